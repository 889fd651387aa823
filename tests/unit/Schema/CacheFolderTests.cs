using System.Diagnostics;
using System.Runtime.Versioning;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Tests.Schema;

/// <summary>The files of a cache: who can read them, how many there are, and what is not used.</summary>
public sealed class CacheFolderTests : IDisposable
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly TempFolder _folder = new();

    private string Place => Path.Combine(_folder.Path, "above", "cache");

    private string Entry => Path.Combine(Place, "a" + CacheFolder.Ending);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void What_is_written_is_read_again_and_replaced_in_one_step()
    {
        CacheFolder cache = new(Place);

        cache.Write("a", [1, 2, 3]);
        byte[]? first = cache.Read("a");
        cache.Write("a", [4]);

        Assert.Equal([1, 2, 3], first);
        Assert.Equal([4], cache.Read("a"));
        Assert.Null(cache.Read("b"));
        Assert.Equal([Entry], Directory.GetFiles(Place));
    }

    [Fact]
    [UnsupportedOSPlatform("windows")]
    public void Only_the_owner_has_access()
    {
        SkipOnWindows();
        new CacheFolder(Place).Write("a", [1]);

        Assert.Equal(OwnerOnly | UnixFileMode.UserExecute, File.GetUnixFileMode(Place));
        Assert.Equal(
            OwnerOnly | UnixFileMode.UserExecute, File.GetUnixFileMode(Path.GetDirectoryName(Place)!));
        Assert.Equal(OwnerOnly, File.GetUnixFileMode(Entry));
    }

    [Theory]
    [InlineData(UnixFileMode.GroupWrite)]
    [InlineData(UnixFileMode.OtherWrite)]
    [UnsupportedOSPlatform("windows")]
    public void A_folder_that_others_can_write_to_is_not_used(UnixFileMode others)
    {
        SkipOnWindows();
        CacheFolder cache = new(Place);
        cache.Write("a", [1]);
        File.SetUnixFileMode(Place, OwnerOnly | UnixFileMode.UserExecute | others);

        cache.Write("b", [2]);

        Assert.Null(cache.Read("a"));
        Assert.Equal([Entry], Directory.GetFiles(Place));
    }

    [Fact]
    [UnsupportedOSPlatform("windows")]
    public void A_folder_that_others_can_replace_is_not_used()
    {
        SkipOnWindows();
        CacheFolder cache = new(Place);
        cache.Write("a", [1]);
        File.SetUnixFileMode(
            Path.GetDirectoryName(Place)!, OwnerOnly | UnixFileMode.UserExecute | UnixFileMode.OtherWrite);

        Assert.Null(cache.Read("a"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void What_belongs_to_another_account_is_not_used(bool isFolder)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        CacheFolder cache = new(Place);
        cache.Write("a", [1]);
        OtherAccount.Own(isFolder ? Place : Entry);

        Assert.Null(cache.Read("a"));

        cache.Write("a", [2]);
        Assert.Equal(isFolder ? null : [2], cache.Read("a"));
        Assert.Equal([(byte)(isFolder ? 1 : 2)], File.ReadAllBytes(Entry));
    }

    [Fact]
    public void A_link_to_a_folder_is_not_used()
    {
        SkipOnWindows();
        string target = Path.Combine(_folder.Path, "target");
        new CacheFolder(target).Write("a", [1]);
        Directory.CreateDirectory(Path.GetDirectoryName(Place)!);
        Directory.CreateSymbolicLink(Place, target);
        CacheFolder cache = new(Place);

        cache.Write("b", [2]);

        Assert.Null(cache.Read("a"));
        Assert.Single(Directory.GetFiles(target));
    }

    [Theory]
    [InlineData("link")]
    [InlineData("hard link")]
    [InlineData("pipe")]
    [InlineData("folder")]
    [InlineData("readable")]
    [UnsupportedOSPlatform("windows")]
    public void A_file_that_is_not_ours_alone_is_not_used_and_replaced(string kind)
    {
        SkipOnWindows();
        CacheFolder cache = new(Place);
        cache.Write("a", [1]);
        cache.Write("b", [1]);
        string other = Path.Combine(Place, "b" + CacheFolder.Ending);
        switch (kind)
        {
            case "link":
                File.Delete(Entry);
                File.CreateSymbolicLink(Entry, other);
                break;
            case "hard link":
                Run("ln", Entry, Path.Combine(_folder.Path, "same"));
                break;
            case "pipe":
                File.Delete(Entry);
                Run("mkfifo", "-m", "600", Entry);
                break;
            case "folder":
                File.Delete(Entry);
                Directory.CreateDirectory(Entry);
                break;
            default:
                File.SetUnixFileMode(Entry, OwnerOnly | UnixFileMode.OtherRead);
                break;
        }

        Assert.Null(cache.Read("a"));

        cache.Write("a", [2]);
        Assert.Equal(kind == "folder" ? null : [2], cache.Read("a"));
        Assert.Equal([1], cache.Read("b"));
        Assert.Equal(2, Directory.GetFileSystemEntries(Place).Length);
    }

    [Fact]
    public void Where_nothing_can_be_written_nothing_happens()
    {
        string file = _folder.Write("file", "text");
        CacheFolder cache = new(Path.Combine(file, "cache"));

        cache.Write("a", [1]);

        Assert.Null(cache.Read("a"));
        Assert.Equal("text", File.ReadAllText(file));
    }

    [Fact]
    public void A_name_that_no_file_can_have_is_not_found()
    {
        CacheFolder cache = new(Place + "\0");

        cache.Write("a", [1]);

        Assert.Null(cache.Read("a"));
    }

    [Fact]
    public void A_full_disk_leaves_no_part_of_a_file()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, "Only root on Linux can make a small disk.");
        string disk = Path.Combine(_folder.Path, "disk");
        Directory.CreateDirectory(disk);
        Assert.SkipWhen(
            Run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", disk) != 0,
            "No file system can be mounted here.");
        try
        {
            CacheFolder cache = new(Path.Combine(disk, "cache"));
            cache.Write("a", [1]);

            cache.Write("b", new byte[1024 * 1024]);
            cache.Write("a", new byte[1024 * 1024]);

            Assert.Null(cache.Read("b"));
            Assert.Equal([1], cache.Read("a"));
            Assert.Single(Directory.GetFiles(cache.Path));
        }
        finally
        {
            Run("umount", disk);
        }
    }

    [Fact]
    public void A_file_over_the_limit_is_neither_written_nor_read()
    {
        new CacheFolder(Place).Write("a", new byte[101]);
        CacheFolder small = new(Place) { MaxFileBytes = 100 };

        small.Write("b", new byte[101]);

        Assert.Null(small.Read("a"));
        Assert.Equal([Entry], Directory.GetFiles(Place));
    }

    [Fact]
    public void The_files_that_were_not_used_for_the_longest_time_are_deleted()
    {
        CacheFolder cache = new(Place) { MaxFiles = 3 };
        foreach (string name in new[] { "a", "b", "c" })
        {
            cache.Write(name, [1]);
            File.SetLastWriteTimeUtc(
                Path.Combine(Place, name + CacheFolder.Ending), DateTime.UtcNow.AddDays(name[0] - 'z'));
        }

        cache.Read("a");
        cache.Write("d", [1]);

        Assert.Equal([1], cache.Read("a"));
        Assert.Null(cache.Read("b"));
        Assert.Equal([1], cache.Read("c"));
        Assert.Equal([1], cache.Read("d"));
    }

    [Fact]
    public void All_files_together_have_a_limit()
    {
        CacheFolder cache = new(Place) { MaxBytes = 100 };
        for (int i = 0; i < 10; i++)
        {
            cache.Write($"{i}", new byte[40]);
        }

        Assert.InRange(Directory.GetFiles(Place).Sum(file => new FileInfo(file).Length), 40, 100);
    }

    [Fact]
    public void Files_of_others_stay_and_what_a_killed_process_left_goes()
    {
        CacheFolder cache = new(Place) { MaxFiles = 1 };
        cache.Write("a", [1]);
        string own = Path.Combine(Place, "notes.txt");
        File.WriteAllText(own, "text");
        string left = Path.Combine(Place, $"{Guid.NewGuid():N}{CacheFolder.Ending}");
        File.Move(Entry, left);
        File.SetLastWriteTimeUtc(left, DateTime.UtcNow.AddDays(-1));

        cache.Write("b", [1]);

        Assert.True(File.Exists(own));
        Assert.False(File.Exists(left));
        Assert.NotNull(cache.Read("b"));
    }

    [Fact]
    public async Task Readers_see_whole_files_while_others_write_and_delete()
    {
        const int size = 100_000;
        using CancellationTokenSource end = new(TimeSpan.FromMinutes(1));
        Task[] writers =
        [
            .. Enumerable.Range(1, 3).Select(value => Task.Run(() =>
            {
                CacheFolder cache = new(Place) { MaxFiles = 2 };
                byte[] bytes = new byte[size];
                Array.Fill(bytes, (byte)value);
                for (int i = 0; i < 50; i++)
                {
                    cache.Write($"{i % 3}", bytes);
                }
            })),
        ];
        Task writing = Task.WhenAll(writers);

        CacheFolder reader = new(Place);
        do
        {
            foreach (byte[] bytes in Enumerable.Range(0, 3).Select(i => reader.Read($"{i}")).OfType<byte[]>())
            {
                Assert.Equal(size, bytes.Length);
                Assert.Equal(-1, bytes.AsSpan().IndexOfAnyExcept(bytes[0]));
            }
        }
        while (!writing.IsCompleted && !end.IsCancellationRequested);

        await writing.WaitAsync(end.Token);
        Assert.InRange(Directory.GetFiles(Place).Length, 1, 2);
    }

    private static int Run(string program, params string[] arguments)
    {
        using Process process = Process.Start(program, arguments);
        process.WaitForExit();
        return process.ExitCode;
    }

    private static void SkipOnWindows() =>
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Access lists, not modes, decide there.");
}
