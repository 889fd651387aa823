using System.Runtime.Versioning;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

/// <summary>The copy of protoc in the user's cache.</summary>
[UnsupportedOSPlatform("windows")]
public static class ProtocCopyTests
{
    private const UnixFileMode OwnerOnly =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private static bool IsUnix => !OperatingSystem.IsWindows();

    [Fact]
    public static void A_copy_is_made_once_for_its_owner_alone()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string shipped = folder.Write("protoc", "one");

        string copy = ProtocCopy.Prepare(shipped, $"{folder.Path}/cache", null);
        DateTime written = File.GetLastWriteTimeUtc(copy);
        string again = ProtocCopy.Prepare(shipped, $"{folder.Path}/cache", "/nowhere");

        Assert.Equal("one", File.ReadAllText(copy));
        Assert.Equal(OwnerOnly, File.GetUnixFileMode(copy));
        Assert.Equal(OwnerOnly, File.GetUnixFileMode($"{folder.Path}/cache/protorpc"));
        Assert.Equal(copy, again);
        Assert.Equal(written, File.GetLastWriteTimeUtc(again));
        Assert.Single(Directory.GetFiles($"{folder.Path}/cache", "*", SearchOption.AllDirectories));
    }

    [Fact]
    public static void Another_protoc_gets_another_copy()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();

        string first = ProtocCopy.Prepare(folder.Write("protoc", "one"), folder.Path, null);
        string second = ProtocCopy.Prepare(folder.Write("protoc", "two"), folder.Path, null);

        Assert.Equal("one", File.ReadAllText(first));
        Assert.Equal("two", File.ReadAllText(second));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("relative")]
    public static void Without_a_cache_folder_it_is_below_home(string? cacheHome)
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();

        string copy = ProtocCopy.Prepare(folder.Write("protoc", "one"), cacheHome, folder.Path);

        Assert.StartsWith($"{folder.Path}/.cache/protorpc/", copy, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("changed")]
    [InlineData("link")]
    [InlineData("dangling link")]
    [InlineData("not executable")]
    [InlineData("writable")]
    public static void A_copy_that_is_not_right_is_replaced(string fault)
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string shipped = folder.Write("protoc", "one");
        string planted = folder.Write("planted", "one");
        string copy = ProtocCopy.Prepare(shipped, folder.Path, null);
        switch (fault)
        {
            case "changed":
                File.WriteAllText(copy, "evil");
                break;
            case "link":
                File.Delete(copy);
                File.CreateSymbolicLink(copy, planted);
                break;
            case "dangling link":
                File.Delete(copy);
                File.CreateSymbolicLink(copy, $"{folder.Path}/not there");
                break;
            case "not executable":
                File.SetUnixFileMode(copy, UnixFileMode.UserRead);
                break;
            default:
                File.SetUnixFileMode(copy, OwnerOnly | UnixFileMode.OtherWrite);
                break;
        }

        Assert.Equal(copy, ProtocCopy.Prepare(shipped, folder.Path, null));

        Assert.Null(new FileInfo(copy).LinkTarget);
        Assert.Equal("one", File.ReadAllText(copy));
        Assert.Equal(OwnerOnly, File.GetUnixFileMode(copy));
        Assert.Equal("one", File.ReadAllText(planted));
        Assert.False(File.Exists($"{folder.Path}/not there"));
        Assert.Single(Directory.GetFiles($"{folder.Path}/protorpc"));
    }

    [Fact]
    public static void A_folder_that_is_a_link_is_refused_and_nothing_is_written_there()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string target = Directory.CreateDirectory($"{folder.Path}/elsewhere").FullName;
        Directory.CreateSymbolicLink($"{folder.Path}/protorpc", target);

        RpcException e = Refused(folder.Write("protoc", "one"), folder.Path, null);

        Assert.Contains($"'{folder.Path}/protorpc' is a link", e.Message, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(target));
    }

    [Fact]
    public static void A_cache_that_every_user_can_change_is_refused()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string shipped = folder.Write("protoc", "one");
        string cache = Directory.CreateDirectory($"{folder.Path}/cache").FullName;
        UnixFileMode everyone = OwnerOnly | UnixFileMode.OtherRead | UnixFileMode.OtherWrite
            | UnixFileMode.OtherExecute;
        File.SetUnixFileMode(cache, everyone);

        RpcException e = Refused(shipped, cache, null);
        File.SetUnixFileMode(cache, everyone | UnixFileMode.StickyBit);
        string copy = ProtocCopy.Prepare(shipped, cache, null);

        Assert.Contains($"every user can replace what is in '{cache}'", e.Message, StringComparison.Ordinal);
        Assert.True(File.Exists(copy));
    }

    [Fact]
    public static void A_folder_that_was_open_to_others_is_closed()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string own = Directory.CreateDirectory($"{folder.Path}/protorpc").FullName;
        File.SetUnixFileMode(own, OwnerOnly | UnixFileMode.OtherRead | UnixFileMode.OtherWrite);

        ProtocCopy.Prepare(folder.Write("protoc", "one"), folder.Path, null);

        Assert.Equal(OwnerOnly, File.GetUnixFileMode(own));
    }

    [Fact]
    public static void Without_cache_and_home_the_error_says_what_to_set()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string shipped = folder.Write("protoc", "one");

        RpcException unset = Refused(shipped, null, null);
        RpcException file = Refused(shipped, shipped, null);

        Assert.Contains(
            "neither XDG_CACHE_HOME nor HOME names a folder", unset.Message, StringComparison.Ordinal);
        Assert.Contains("set XDG_CACHE_HOME", file.Message, StringComparison.Ordinal);
        Assert.All([unset, file], e => Assert.Contains(shipped, e.Message, StringComparison.Ordinal));
    }

    [Fact]
    public static void Callers_at_the_same_time_get_the_same_copy()
    {
        if (!IsUnix)
        {
            return;
        }

        using TempFolder folder = new();
        string shipped = folder.Write("protoc", new string('x', 1_000_000));
        string[] copies = new string[16];

        Parallel.For(0, copies.Length, i => copies[i] = ProtocCopy.Prepare(shipped, folder.Path, null));

        Assert.Single(copies.Distinct());
        Assert.Equal(new FileInfo(shipped).Length, new FileInfo(copies[0]).Length);
        Assert.Single(Directory.GetFiles($"{folder.Path}/protorpc"));
    }

    private static RpcException Refused(string shipped, string? cacheHome, string? home)
    {
        RpcException e = Assert.Throws<RpcException>(() => ProtocCopy.Prepare(shipped, cacheHome, home));
        Assert.Equal("ProtocNotFound", e.ErrorId);
        Assert.Equal(RpcStatusCode.FailedPrecondition, e.Code);
        return e;
    }
}
