using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Links files that leave out their imports, as those of Node's @grpc/reflection do: its loader
/// makes one file of each package, and none of them imports another one (grpc-node issue 2595).</summary>
internal static class MissingImports
{
    private const int MaxLength = 300;
    private const int MaxParts = 20;

    /// <summary>Links files, with the imports that files without any need.</summary>
    /// <exception cref="RpcException">InvalidArgument when the files cannot be linked.</exception>
    public static IReadOnlyList<SchemaFile> Link(IReadOnlyList<DescriptorFile> files)
    {
        try
        {
            return DescriptorLinker.Link(files);
        }
        catch (RpcException)
        {
            if (Add(files) is not { } complete)
            {
                throw;
            }

            return DescriptorLinker.Link(complete);
        }
    }

    // Null if no file needs an import.
    private static List<DescriptorFile>? Add(IReadOnlyList<DescriptorFile> files)
    {
        Dictionary<string, string> fileOf = new(StringComparer.Ordinal);
        foreach (DescriptorFile file in files)
        {
            foreach (string name in file.Proto.MessageType.Select(type => type.Name)
                .Concat(file.Proto.EnumType.Select(type => type.Name)))
            {
                fileOf.TryAdd($"{file.Proto.Package}.{name}".TrimStart('.'), file.Name);
            }
        }

        bool isChanged = false;
        List<DescriptorFile> complete = [];
        foreach (DescriptorFile file in files)
        {
            HashSet<string> imports = file.Proto.Dependency.Count == 0
                ? [.. NamesIn(file.Proto).Distinct(StringComparer.Ordinal)
                    .Select(name => FileOf(name, file.Proto.Package, fileOf)).OfType<string>()]
                : [];
            imports.Remove(file.Name);
            isChanged |= imports.Count > 0;
            complete.Add(imports.Count > 0 ? With(file, imports) : file);
        }

        return isChanged ? complete : null;
    }

    private static DescriptorFile With(DescriptorFile file, HashSet<string> imports)
    {
        FileDescriptorProto proto = file.Proto.Clone();
        proto.Dependency.Add(imports);
        return new DescriptorFile(proto.ToByteString(), proto, file.Origin);
    }

    // A name may be relative to the package or to one around it. The rest of it may name a nested type.
    private static string? FileOf(string name, string package, Dictionary<string, string> fileOf)
    {
        // A hostile server may send names that take long to look up.
        if (name.Length + package.Length > MaxLength
            || name.AsSpan().Count('.') > MaxParts || package.AsSpan().Count('.') > MaxParts)
        {
            return null;
        }

        if (name.StartsWith('.'))
        {
            return Find(name[1..], fileOf);
        }

        string? found = null;
        for (string scope = package; found is null && scope.Length > 0;
            scope = scope[..Math.Max(0, scope.LastIndexOf('.'))])
        {
            found = Find($"{scope}.{name}", fileOf);
        }

        return found ?? Find(name, fileOf);
    }

    private static string? Find(string name, Dictionary<string, string> fileOf)
    {
        Dictionary<string, string>.AlternateLookup<ReadOnlySpan<char>> lookup =
            fileOf.GetAlternateLookup<ReadOnlySpan<char>>();
        for (int end = name.Length; end > 0; end = name.AsSpan(0, end).LastIndexOf('.'))
        {
            if (lookup.TryGetValue(name.AsSpan(0, end), out string? file))
            {
                return file;
            }
        }

        return null;
    }

    private static IEnumerable<string> NamesIn(FileDescriptorProto file)
    {
        Stack<DescriptorProto> open = new(file.MessageType);
        List<string> names =
        [
            .. file.Service.SelectMany(service => service.Method)
                .SelectMany(method => new[] { method.InputType, method.OutputType }),
            .. NamesOf(file.Extension),
        ];
        while (open.TryPop(out DescriptorProto? message))
        {
            names.AddRange([.. NamesOf(message.Field), .. NamesOf(message.Extension)]);
            foreach (DescriptorProto nested in message.NestedType)
            {
                open.Push(nested);
            }
        }

        return names.Where(name => name.Length > 0);
    }

    private static IEnumerable<string> NamesOf(IEnumerable<FieldDescriptorProto> fields) =>
        fields.SelectMany(field => new[] { field.TypeName, field.Extendee });
}
