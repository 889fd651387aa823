using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Puts files into the order in which they can be linked.</summary>
internal static class ImportOrder
{
    // Google.Protobuf 3.36.2 walks chains of public imports with one stack frame each.
    private const int MaxPublicChain = 500;

    /// <summary>Sorts imports before the files that import them, and otherwise keeps the order.</summary>
    /// <exception cref="RpcException">InvalidArgument for a missing or cyclic import,
    /// or two files of one name.
    /// </exception>
    public static IReadOnlyList<DescriptorFile> Sort(IReadOnlyList<DescriptorFile> files)
    {
        Dictionary<string, DescriptorFile> byName = IndexByName(files);
        List<DescriptorFile> sorted = [];
        HashSet<string> done = new(StringComparer.Ordinal);
        foreach (DescriptorFile root in byName.Values)
        {
            Visit(root, byName, done, sorted);
        }

        CheckPublicChains(sorted);
        return sorted;
    }

    private static Dictionary<string, DescriptorFile> IndexByName(IReadOnlyList<DescriptorFile> files)
    {
        Dictionary<string, DescriptorFile> byName = new(StringComparer.Ordinal);
        foreach (DescriptorFile file in files)
        {
            if (file.Name.Length == 0)
            {
                throw SchemaError.Invalid($"A file in {file.Origin} has no name.");
            }

            // Concatenated descriptor sets can contain the same file twice.
            if (!byName.TryAdd(file.Name, file) && !byName[file.Name].Bytes.Equals(file.Bytes))
            {
                throw SchemaError.Invalid(
                    $"Two different files have the name '{file.Name}': one in {byName[file.Name].Origin}, "
                    + $"one in {file.Origin}.");
            }
        }

        return byName;
    }

    // Uses an explicit stack, because a hostile set may have a chain of a million imports.
    private static void Visit(
        DescriptorFile root, Dictionary<string, DescriptorFile> byName, HashSet<string> done,
        List<DescriptorFile> sorted)
    {
        List<(DescriptorFile File, int Next)> open = [(root, 0)];
        HashSet<string> openNames = new(StringComparer.Ordinal) { root.Name };
        while (open.Count > 0)
        {
            (DescriptorFile file, int next) = open[^1];
            if (done.Contains(file.Name) || next == file.Proto.Dependency.Count)
            {
                open.RemoveAt(open.Count - 1);
                openNames.Remove(file.Name);
                if (done.Add(file.Name))
                {
                    sorted.Add(file);
                }

                continue;
            }

            open[^1] = (file, next + 1);
            string import = file.Proto.Dependency[next];
            if (done.Contains(import))
            {
                continue;
            }

            if (!byName.TryGetValue(import, out DescriptorFile? imported))
            {
                throw SchemaError.Invalid(
                    $"'{file.Name}' imports '{import}', which is not in {file.Origin}. "
                    + "Make the set with 'protoc --include_imports'.");
            }

            if (!openNames.Add(import))
            {
                IEnumerable<string> cycle = open.Select(o => o.File.Name).SkipWhile(n => n != import)
                    .Append(import);
                throw SchemaError.Invalid(
                    $"Files import each other in a circle: {string.Join(" -> ", cycle.Take(10))}.");
            }

            open.Add((imported, 0));
        }
    }

    private static void CheckPublicChains(List<DescriptorFile> sorted)
    {
        Dictionary<string, int> lengths = new(StringComparer.Ordinal);
        foreach (DescriptorFile file in sorted)
        {
            int length = 1;
            foreach (int index in file.Proto.PublicDependency)
            {
                if (index < 0 || index >= file.Proto.Dependency.Count)
                {
                    throw SchemaError.Invalid(
                        $"'{file.Name}' has a public import {index} that it does not import.");
                }

                length = Math.Max(length, lengths[file.Proto.Dependency[index]] + 1);
            }

            if (length > MaxPublicChain)
            {
                throw SchemaError.Invalid(
                    $"'{file.Name}' ends a chain of more than {MaxPublicChain} public imports.");
            }

            lengths.Add(file.Name, length);
        }
    }
}

/// <summary>Public imports of a file.</summary>
internal static class PublicImports
{
    /// <summary>Lets files that import a file also see what another file declares.</summary>
    public static void ImportPublicly(this FileDescriptorProto file, string import)
    {
        int index = file.Dependency.IndexOf(import);
        if (index < 0)
        {
            index = file.Dependency.Count;
            file.Dependency.Add(import);
        }

        if (!file.PublicDependency.Contains(index))
        {
            file.PublicDependency.Add(index);
        }
    }
}
