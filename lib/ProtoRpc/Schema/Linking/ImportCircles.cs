using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Breaks circles of imports: imports that no type needs are removed, and files that need each other
/// are split.</summary>
/// <remarks>Servers that make one file of each package, such as Node's, put types together that were in
/// several files. Types themselves can only need each other within one file.</remarks>
internal static class ImportCircles
{
    /// <summary>The files, without circles.</summary>
    /// <param name="files">The files with the declarations that they use.</param>
    /// <param name="began">Receives the file at fault.</param>
    /// <exception cref="RpcException">InvalidArgument: types of several packages need each other.</exception>
    public static List<RepairedFile> Break(IReadOnlyList<RepairedFile> files, Action<string?> began)
    {
        Dictionary<string, int> indexOf = new(StringComparer.Ordinal);
        for (int i = 0; i < files.Count; i++)
        {
            indexOf.TryAdd(files[i].Proto.Name, i);
        }

        foreach (RepairedFile file in files)
        {
            file.KeptImports = [.. file.Source.Proto.Dependency.Where(
                import => indexOf.ContainsKey(import) && import != file.Proto.Name)];
        }

        StrongComponents all = Components();
        for (int i = 0; i < files.Count; i++)
        {
            if (all.IsInCircle(i))
            {
                files[i].KeptImports = [];
            }
        }

        StrongComponents needed = Components();
        List<RepairedFile> acyclic = [];

        // Names of files that only differ in their extensions result in the same names of parts.
        HashSet<string> names = new(indexOf.Keys, StringComparer.Ordinal);
        foreach (IGrouping<int, int> group in Enumerable.Range(0, files.Count).GroupBy(
            i => needed.IsInCircle(i) ? needed.ComponentOf(i) : -1))
        {
            IEnumerable<RepairedFile> members = group.Select(i => files[i]);
            acyclic.AddRange(group.Key < 0 ? members : Split([.. members], names, began));
        }

        HashSet<string> kept = [.. acyclic.Select(file => file.Proto.Name)];
        foreach (RepairedFile file in acyclic)
        {
            file.KeptImports = [.. file.KeptImports.Where(kept.Contains)];
        }

        return acyclic;

        StrongComponents Components() => new(
        [
            .. files.Select(file => new HashSet<int>(
                file.KeptImports.Select(import => indexOf[import])
                    .Concat(file.Needs.Select(need => indexOf[need.Proto.Name])))),
        ]);
    }

    // Creates a file for each type, or for several types that refer to each other, with a name that it adds.
    private static List<RepairedFile> Split(
        IReadOnlyList<RepairedFile> files, HashSet<string> names, Action<string?> began)
    {
        List<Declaration> declarations = [.. files.SelectMany(file => file.Declarations)];
        Dictionary<Declaration, int> indexOf = [];
        foreach (Declaration declaration in declarations)
        {
            indexOf.Add(declaration, indexOf.Count);
        }

        StrongComponents circles = new(
        [
            .. declarations.Select(declaration => new HashSet<int>(
                declaration.Needs.Where(indexOf.ContainsKey).Select(need => indexOf[need]))),
        ]);
        List<RepairedFile> parts = [];
        Dictionary<RepairedFile, int> counts = [];
        foreach (IGrouping<int, Declaration> group in declarations.GroupBy(
            declaration => circles.ComponentOf(indexOf[declaration])).ToArray())
        {
            RepairedFile whole = group.First().File;
            began(whole.Blamed);
            if (group.FirstOrDefault(other => !IsAlike(whole.Proto, other.File.Proto)) is { } other)
            {
                throw SchemaError.Invalid(
                    $"Types of '{whole.Proto.Name}' and '{other.File.Proto.Name}' need each other in a "
                    + "circle.");
            }

            parts.Add(PartOf(whole, [.. group], NameOf(whole)));
        }

        began(null);
        return parts;

        string NameOf(RepairedFile whole)
        {
            string name;
            do
            {
                int count = counts[whole] = counts.GetValueOrDefault(whole) + 1;
                name = $"{Path.ChangeExtension(whole.Proto.Name, null)}-{count}.proto";
            }
            while (!names.Add(name));
            return name;
        }
    }

    private static RepairedFile PartOf(
        RepairedFile whole, IReadOnlyList<Declaration> declarations, string name)
    {
        FileDescriptorProto proto = new()
        {
            Name = name,
            Package = whole.Proto.Package,
            Options = whole.Proto.Options,
        };
        if (whole.Proto.HasSyntax)
        {
            proto.Syntax = whole.Proto.Syntax;
        }

        if (whole.Proto.HasEdition)
        {
            proto.Edition = whole.Proto.Edition;
        }

        RepairedFile part = new(new DescriptorFile(ByteString.Empty, proto, whole.Source.Origin))
        {
            Blamed = whole.Blamed,
            IsOptional = whole.IsOptional,
        };
        foreach (Declaration declaration in declarations)
        {
            declaration.File = part;
            part.Declarations.Add(declaration);
            switch (declaration.Element)
            {
                case DescriptorProto message:
                    part.Proto.MessageType.Add(message);
                    break;
                case EnumDescriptorProto type:
                    part.Proto.EnumType.Add(type);
                    break;
                case ServiceDescriptorProto service:
                    part.Proto.Service.Add(service);
                    break;
                case FieldDescriptorProto extension:
                    part.Proto.Extension.Add(extension);
                    break;
            }
        }

        return part;
    }

    private static bool IsAlike(FileDescriptorProto a, FileDescriptorProto b) =>
        a.Package == b.Package && a.Syntax == b.Syntax && a.Edition == b.Edition
        && Equals(a.Options?.Features, b.Options?.Features);
}
