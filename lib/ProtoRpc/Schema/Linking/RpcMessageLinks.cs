using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Merges the native protocol's header files into one, whatever names the files of a schema import
/// them by.</summary>
/// <remarks>Descriptor sets and servers may contain copies of the file with several names, but a type can
/// only be declared once.</remarks>
internal static class RpcMessageLinks
{
    /// <summary>Adds the names that are imported and that no file has.</summary>
    public static IReadOnlyList<DescriptorFile> AddMissing(IReadOnlyList<DescriptorFile> files)
    {
        string[] missing =
        [
            .. RpcMessageFiles.Names
                .Intersect(files.SelectMany(file => file.Proto.Dependency))
                .Except(files.Select(file => file.Name)),
        ];
        List<DescriptorFile> all = [.. files];
        string? declaring = files.FirstOrDefault(IsCopy)?.Name;
        foreach (string name in missing)
        {
            FileDescriptorProto proto;
            if (declaring is null)
            {
                proto = OwnFile();
                declaring = name;
            }
            else
            {
                proto = new FileDescriptorProto { Dependency = { declaring }, PublicDependency = { 0 } };
            }

            proto.Name = name;
            all.Add(new DescriptorFile(proto.ToByteString(), proto, $"'{name}'"));
        }

        return all;
    }

    /// <summary>Removes from each copy what an earlier one declares,
    /// and imports the earlier one there, publicly.
    /// </summary>
    /// <param name="sorted">The files; imports come before the files that import them.</param>
    public static IReadOnlyList<DescriptorFile> Unify(IReadOnlyList<DescriptorFile> sorted)
    {
        if (sorted.Count(IsCopy) < 2)
        {
            return sorted;
        }

        Dictionary<string, string> declared = new(StringComparer.Ordinal);
        return [.. sorted.Select(file => IsCopy(file) ? Without(file, declared) : file)];
    }

    // The generated class of this file is in a layer above the schemas, so the embedded descriptor is used.
    private static FileDescriptorProto OwnFile()
    {
        using Stream resource =
            typeof(RpcMessageLinks).Assembly.GetManifestResourceStream("rpc_messages.pb")!;
        using CodedInputStream set = new(resource);
        set.ReadTag();
        return FileDescriptorProto.Parser.ParseFrom(set.ReadBytes());
    }

    // A merged descriptor set may have a folder before the file name.
    private static bool IsCopy(DescriptorFile file) =>
        file.Proto.Package == RpcMessageFiles.Package
        && RpcMessageFiles.Names.Contains(file.Name[(file.Name.LastIndexOf('/') + 1)..])
        && file.Proto.MessageType.Count > 0;

    private static DescriptorFile Without(DescriptorFile file, Dictionary<string, string> declared)
    {
        FileDescriptorProto proto = file.Proto.Clone();
        HashSet<string> imports = new(StringComparer.Ordinal);
        Keep(proto.MessageType, message => message.Name);
        Keep(proto.EnumType, type => type.Name);
        Keep(proto.Service, service => service.Name);
        Keep(proto.Extension, extension => extension.Name);
        if (imports.Count == 0)
        {
            return file;
        }

        foreach (string import in imports)
        {
            proto.ImportPublicly(import);
        }

        // SourceCodeInfo refers to elements by their index, which has changed.
        proto.SourceCodeInfo = null;
        return new DescriptorFile(proto.ToByteString(), proto, file.Origin);

        void Keep<T>(ICollection<T> all, Func<T, string> nameOf)
        {
            foreach (T element in all.ToArray())
            {
                // Names that one file has twice are an error of the file, which linking reports.
                if (!declared.TryAdd(nameOf(element), file.Name) && declared[nameOf(element)] != file.Name)
                {
                    imports.Add(declared[nameOf(element)]);
                    all.Remove(element);
                }
            }
        }
    }
}
