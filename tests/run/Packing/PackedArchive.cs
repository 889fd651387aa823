using System.Formats.Tar;
using System.IO.Compression;

namespace ProtoRpc.TestRun.Packing;

/// <summary>Writes archives whose bytes depend on their files and one time only: no owner, no time of a file,
/// no order of a file system.</summary>
internal static class PackedArchive
{
    private const UnixFileMode Readable =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.OtherRead;

    private const UnixFileMode Executable = Readable
        | UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;

    public static void WriteZip(string path, IEnumerable<PackedEntry> entries, DateTimeOffset time)
    {
        using FileStream file = File.Create(path);
        using ZipArchive archive = new(file, ZipArchiveMode.Create);
        foreach (PackedEntry entry in Sorted(entries))
        {
            ZipArchiveEntry made = archive.CreateEntry(entry.Name, CompressionLevel.SmallestSize);
            made.LastWriteTime = time.ToUniversalTime();
            // The high half is the Unix mode: 0o100000 for a file.
            made.ExternalAttributes = (0x8000 | (int)ModeOf(entry)) << 16;
            using Stream stream = made.Open();
            stream.Write(entry.Content);
        }
    }

    public static void WriteTarGz(string path, IEnumerable<PackedEntry> entries, DateTimeOffset time)
    {
        using FileStream file = File.Create(path);
        using GZipStream zip = new(file, CompressionLevel.SmallestSize);
        using TarWriter archive = new(zip, TarEntryFormat.Ustar);
        foreach (PackedEntry entry in Sorted(entries))
        {
            using MemoryStream content = new(entry.Content, writable: false);
            archive.WriteEntry(new UstarTarEntry(TarEntryType.RegularFile, entry.Name)
            {
                DataStream = content,
                ModificationTime = time,
                Mode = ModeOf(entry),
            });
        }
    }

    private static IEnumerable<PackedEntry> Sorted(IEnumerable<PackedEntry> entries) =>
        entries.OrderBy(entry => entry.Name, StringComparer.Ordinal);

    private static UnixFileMode ModeOf(PackedEntry entry) => entry.IsProgram ? Executable : Readable;
}
