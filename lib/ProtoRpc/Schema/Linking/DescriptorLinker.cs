using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Links files to descriptors.</summary>
internal static class DescriptorLinker
{
    /// <summary>Links files that came in any order.</summary>
    /// <returns>Imports before those that import them.</returns>
    /// <exception cref="RpcException">InvalidArgument when an import is missing or something does not fit.
    /// </exception>
    public static IReadOnlyList<SchemaFile> Link(IReadOnlyList<DescriptorFile> files)
    {
        IReadOnlyList<DescriptorFile> sorted = RpcMessageLinks.Unify(
            ImportOrder.Sort(WellKnownFiles.AddMissing(RpcMessageLinks.AddMissing(files))));
        foreach (DescriptorFile file in sorted)
        {
            NameCheck.Check(file.Proto);
            DescriptorCheck.CheckSyntax(file.Proto);
            DescriptorCheck.CheckExtensions(file.Proto);
        }

        LinkCost.Check(sorted);
        FeatureCost.Check(sorted);
        DescriptorFile? current = null;
        IReadOnlyList<FileDescriptor> descriptors;
        try
        {
            descriptors = FileDescriptor.BuildFromByteStrings(sorted.Select(file =>
            {
                current = file;
                return file.Bytes;
            }));
        }
        // What the library throws on a descriptor that makes no sense is of many kinds.
        catch (Exception e) when (e is not (OutOfMemoryException or RpcException))
        {
            throw SchemaError.Invalid(
                $"'{current?.Name}' in {current?.Origin} cannot be linked: {e.Message}", e);
        }

        List<SchemaFile> linked = [];
        for (int i = 0; i < sorted.Count; i++)
        {
            DescriptorCheck.Check(descriptors[i], sorted[i].Proto);
            linked.Add(new SchemaFile(descriptors[i], sorted[i].Proto));
        }

        return linked;
    }

    /// <summary>Takes descriptors that are linked already, with all that they import.</summary>
    public static IReadOnlyList<SchemaFile> Wrap(IReadOnlyList<FileDescriptor> roots)
    {
        List<SchemaFile> files = [];
        Dictionary<string, ByteString> seen = new(StringComparer.Ordinal);
        foreach (FileDescriptor root in roots)
        {
            Add(root);
        }

        return files;

        void Add(FileDescriptor file)
        {
            if (seen.TryGetValue(file.Name, out ByteString? bytes))
            {
                if (!bytes.Equals(file.SerializedData))
                {
                    throw SchemaError.Invalid($"Two different files have the name '{file.Name}'.");
                }

                return;
            }

            seen.Add(file.Name, file.SerializedData);
            foreach (FileDescriptor import in file.Dependencies)
            {
                Add(import);
            }

            FileDescriptorProto proto = FileDescriptorProto.Parser.ParseFrom(file.SerializedData);
            NameCheck.Check(proto);
            DescriptorCheck.CheckSyntax(proto);
            files.Add(new SchemaFile(file, proto));
        }
    }

    /// <summary>The names of the files that no other one imports.</summary>
    public static IReadOnlyList<string> FindRoots(IReadOnlyList<DescriptorFile> files)
    {
        HashSet<string> imported = [.. files.SelectMany(
            f => f.Proto.Dependency.Concat(f.Proto.OptionDependency))];
        return [
            .. files.Select(f => f.Name).Where(n => !imported.Contains(n)).Distinct(StringComparer.Ordinal)];
    }
}
