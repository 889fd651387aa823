using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Puts the files of several compilations and descriptor sets together.</summary>
internal sealed class DescriptorFileMerge
{
    private readonly Dictionary<string, DescriptorFile> _files = new(StringComparer.Ordinal);
    private readonly List<string> _rootFiles = [];

    public IReadOnlyList<DescriptorFile> Files => [.. _files.Values];

    public IReadOnlyList<string> RootFiles => _rootFiles;

    /// <summary>Whether two files of one name are the same. The well-known files grow from release to
    /// release; the first one serves for all.</summary>
    public static bool IsSame(DescriptorFile a, DescriptorFile b) =>
        a.Bytes.Equals(b.Bytes)
        || (IsWellKnown(a.Proto) && IsWellKnown(b.Proto))
        || WithoutSource(a.Proto).Equals(WithoutSource(b.Proto));

    /// <summary>Adds files that know each other by name.</summary>
    /// <param name="files">The files.</param>
    /// <param name="rootFiles">Those that were asked for.</param>
    /// <param name="label">
    /// Goes before the name of a file whose name another one has already, since a name is only unique
    /// among files that were made together.
    /// </param>
    public void Add(IReadOnlyList<DescriptorFile> files, IReadOnlyList<string> rootFiles, string label)
    {
        Dictionary<string, string> renamed = new(StringComparer.Ordinal);
        foreach (DescriptorFile file in files)
        {
            if (_files.TryGetValue(file.Name, out DescriptorFile? known) && !IsSame(known, file))
            {
                renamed[file.Name] = DescriptorFile.FreeName(
                    file.Name, label, name => _files.ContainsKey(name) || files.Any(f => f.Name == name));
            }
        }

        foreach (DescriptorFile file in files)
        {
            DescriptorFile added = file.Renamed(renamed) is { } proto
                ? new DescriptorFile(proto.ToByteString(), proto, file.Origin)
                : file;
            _files.TryAdd(added.Name, added);
        }

        _rootFiles.AddRange(rootFiles.Select(r => renamed.GetValueOrDefault(r, r)).Except(_rootFiles));
    }

    private static bool IsWellKnown(FileDescriptorProto file) =>
        file.Package == "google.protobuf" && WellKnownFiles.Contains(file.Name);

    private static FileDescriptorProto WithoutSource(FileDescriptorProto file)
    {
        FileDescriptorProto copy = file.Clone();
        copy.SourceCodeInfo = null;
        return copy;
    }
}
