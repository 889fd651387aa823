using System.Runtime.Versioning;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

/// <summary>The directory of sockets for other accounts, under attack by one of them.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class SharedSocketDirectoryTests : IDisposable
{
    private const UnixFileMode All = (UnixFileMode)0x1FF;

    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Local("x");

    private readonly string _first = Directory.CreateTempSubdirectory("protorpc-test-").FullName;
    private readonly string _second = Directory.CreateTempSubdirectory("protorpc-test-").FullName;

    public void Dispose()
    {
        Directory.Delete(_first, recursive: true);
        Directory.Delete(_second, recursive: true);
    }

    [Fact]
    public void Others_pass_through_and_change_nothing()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Windows has pipes with access lists instead");

        string directory = SharedSocketDirectory.Prepare(Endpoint, "local", [_first]);

        Assert.Equal(RootIn(_first), Path.GetDirectoryName(directory));
        foreach (string path in new[] { directory, RootIn(_first) })
        {
            Assert.Equal((UnixFileMode)0x1C9, File.GetUnixFileMode(path));
        }

        Assert.Equal(directory, SharedSocketDirectory.Prepare(Endpoint, "local", [_first]));
        Assert.Equal([directory], SharedSocketDirectory.Find(Own, "local", [_second, _first]));
        Assert.Empty(SharedSocketDirectory.Find(Own + 1, "local", [_first]));
    }

    [Theory]
    [InlineData("link")]
    [InlineData("link of another account")]
    [InlineData("folder of another account")]
    [InlineData("folder that others can change")]
    [InlineData("file")]
    [InlineData("link inside")]
    [InlineData("folder of another account inside")]
    public void What_is_there_first_is_not_used(string what)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        string root = RootIn(_first);
        string target = Directory.CreateDirectory(Path.Combine(_first, "target")).FullName;
        if (what.EndsWith("inside", StringComparison.Ordinal))
        {
            Directory.CreateDirectory(root);
            root = Path.Combine(root, "local");
        }

        if (what.StartsWith("link", StringComparison.Ordinal))
        {
            File.CreateSymbolicLink(root, target);
        }
        else if (what == "file")
        {
            File.WriteAllText(root, "");
        }
        else
        {
            Directory.CreateDirectory(root);
        }

        if (what.Contains("another account", StringComparison.Ordinal))
        {
            OtherAccount.Own(root);
        }
        else if (what == "folder that others can change")
        {
            File.SetUnixFileMode(root, All);
        }

        RpcException error = Assert.Throws<RpcException>(
            () => SharedSocketDirectory.Prepare(Endpoint, "local", [_first]));
        string made = SharedSocketDirectory.Prepare(Endpoint, "local", [_first, _second]);

        Assert.Equal(
            (RpcStatusCode.PermissionDenied, "SocketDirectoryNotSafe"), (error.Code, error.ErrorId));
        Assert.Contains(root, error.Message);
        Assert.Equal(RootIn(_second), Path.GetDirectoryName(made));
        Assert.Equal([made], SharedSocketDirectory.Find(Own, "local", [_first, _second]));
        Assert.Empty(Directory.EnumerateFileSystemEntries(target));
        Assert.NotEqual((UnixFileMode)0x1C9, File.GetUnixFileMode(target));
    }

    [Theory]
    [InlineData("folder", "nobody else changes it", true)]
    [InlineData("folder", "sticky", true)]
    [InlineData("folder", "open", false)]
    [InlineData("folder", "foreign", false)]
    [InlineData("folder/inner", "open", false)]
    [InlineData("folder/inner", "foreign", false)]
    [InlineData("link", "foreign", false)]
    [InlineData("inward", "nobody else changes it", true)]
    [InlineData("inward", "open", false)]
    [InlineData("inward", "foreign", false)]
    [InlineData("circle", "nobody else changes it", false)]
    public void A_socket_for_others_is_in_a_folder_that_they_cannot_change(
        string place, string how, bool isSafe)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        string folder = Path.Combine(_first, "folder");
        Directory.CreateDirectory(Path.Combine(folder, "inner"));
        File.CreateSymbolicLink(Path.Combine(_first, "link"), folder);
        File.CreateSymbolicLink(Path.Combine(_first, "inward"), "link/../folder/inner");
        File.CreateSymbolicLink(Path.Combine(_first, "circle"), "circle");
        if (how is "open" or "sticky")
        {
            File.SetUnixFileMode(folder, how == "open" ? All : All | UnixFileMode.StickyBit);
        }
        else if (how == "foreign")
        {
            OtherAccount.Own(folder);
        }

        RpcException? error = Record.Exception(() => SharedSocketDirectory.RequireSafe(
            Endpoint, Path.Combine(_first, place, "x.sock"))) as RpcException;

        Assert.Equal(isSafe ? null : "SocketDirectoryNotSafe", error?.ErrorId);
    }

    private static uint Own => UnixAccounts.EffectiveUserId;

    private static string RootIn(string place) => Path.Combine(place, $"protorpc-shared-{Own}");
}
