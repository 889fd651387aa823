using System.Formats.Tar;
using System.IO.Compression;
using ProtoRpc.TestRun;
using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.TestRun.Packing;

public sealed class PackedArchiveTests : IDisposable
{
    private static readonly DateTimeOffset Time = new(2026, 11, 22, 10, 0, 0, TimeSpan.FromHours(3));

    private static readonly PackedEntry[] Entries =
        [new("b/program", [1, 2, 3], IsProgram: true), new("a.txt", [4])];

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void The_order_of_files_does_not_matter()
    {
        PackedArchive.WriteZip(PathOf("1.zip"), Entries, Time);
        PackedArchive.WriteZip(PathOf("2.zip"), Entries.Reverse(), Time.ToUniversalTime());
        PackedArchive.WriteTarGz(PathOf("1.tgz"), Entries, Time);
        PackedArchive.WriteTarGz(PathOf("2.tgz"), Entries.Reverse(), Time.ToUniversalTime());

        Assert.Equal(File.ReadAllBytes(PathOf("1.zip")), File.ReadAllBytes(PathOf("2.zip")));
        Assert.Equal(File.ReadAllBytes(PathOf("1.tgz")), File.ReadAllBytes(PathOf("2.tgz")));
    }

    [Fact]
    public void A_tar_archive_has_the_execute_bit_of_programs_and_no_owner()
    {
        PackedArchive.WriteTarGz(PathOf("1.tgz"), Entries, Time);

        using FileStream file = File.OpenRead(PathOf("1.tgz"));
        using GZipStream zip = new(file, CompressionMode.Decompress);
        using TarReader archive = new(zip);
        TarEntry text = archive.GetNextEntry()!;
        Assert.Equal("a.txt", text.Name);
        Assert.False(text.Mode.HasFlag(UnixFileMode.UserExecute));
        TarEntry program = archive.GetNextEntry()!;
        Assert.Equal("b/program", program.Name);
        Assert.True(program.Mode.HasFlag(UnixFileMode.OtherExecute));
        Assert.Equal((0, 0), (program.Uid, program.Gid));
        Assert.Equal(Time, program.ModificationTime);
    }

    [Fact]
    public void Files_that_differ_or_are_missing_fail_the_comparison()
    {
        string one = Directory.CreateDirectory(PathOf("one/packages")).Parent!.FullName;
        string two = Directory.CreateDirectory(PathOf("two/packages")).Parent!.FullName;
        foreach (string folder in (string[])[one, two])
        {
            File.WriteAllText(Path.Combine(folder, "packages", "same"), "same");
            File.WriteAllText(Path.Combine(folder, "packages", "other"), folder);
        }

        File.WriteAllText(Path.Combine(one, "packages", "alone"), "");

        SuiteResult result = PackSuite.Compare("pack", one, two);

        Assert.Equal((1, 2), (result.Counts.Passed, result.Counts.Failed));
        Assert.Equal(["pack: packages/alone", "pack: packages/other"], result.Failures.Select(f => f.Name));
    }

    [Fact]
    public void Nothing_to_compare_is_a_failure() =>
        Assert.Equal(1, PackSuite.Compare("pack", _folder.FullName, _folder.FullName).Counts.Failed);

    private string PathOf(string name) => Path.Combine(_folder.FullName, name);
}
