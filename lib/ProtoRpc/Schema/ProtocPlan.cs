namespace ProtoRpc.Schema;

/// <summary>One run of protoc.</summary>
/// <param name="Roots">Folders in which imports are looked for, in order.</param>
/// <param name="Inputs">The files to compile, each by its name under its root.</param>
/// <param name="Label">A name for this run among others.</param>
internal sealed record ProtocPlan(
    IReadOnlyList<SourceFile> Roots, IReadOnlyList<KeyValuePair<string, SourceFile>> Inputs, string Label)
{
    /// <summary>Makes as few runs as the files' names allow; mostly one.</summary>
    /// <param name="files">The .proto files.</param>
    /// <param name="importPaths">The folders that the user gave.</param>
    /// <exception cref="RpcException">InvalidArgument when an import path hides a file that is asked for.</exception>
    public static IReadOnlyList<ProtocPlan> Make(IReadOnlyList<SourceFile> files, IReadOnlyList<SourceFile> importPaths)
    {
        ImportRoots roots = new(files, importPaths);
        List<List<SourceFile>> runs = [];
        // Files of one folder stay together: they import each other.
        foreach (IGrouping<string, SourceFile> group in files.GroupBy(f => roots.RootOf(f).FullPath))
        {
            HashSet<string> names = [.. group.Select(roots.NameOf)];
            List<SourceFile>? run = runs.FirstOrDefault(r => !r.Any(f => names.Contains(roots.NameOf(f))));
            if (run is null)
            {
                runs.Add(run = []);
            }

            run.AddRange(group);
        }

        return [.. runs.Select(run => Make(run, importPaths, roots))];
    }

    private static ProtocPlan Make(List<SourceFile> files, IReadOnlyList<SourceFile> importPaths, ImportRoots roots)
    {
        SourceFile[] order =
        [
            .. importPaths
                .Concat(files.Select(roots.RootOf))
                .Concat(roots.Automatic)
                .DistinctBy(r => r.FullPath),
        ];
        KeyValuePair<string, SourceFile>[] inputs = [.. files.Select(f => KeyValuePair.Create(roots.NameOf(f), f))];
        foreach ((string name, SourceFile file) in inputs)
        {
            string first = order.Select(r => Path.Combine(r.FullPath, name)).First(File.Exists);
            if (!Path.GetFullPath(first).Equals(file.FullPath, StringComparison.Ordinal))
            {
                throw SchemaError.Invalid(
                    $"'{file.Given}' is hidden by '{first}', which has the same name '{name}' in an import path "
                    + "that comes first. Change the order of the import paths.");
            }
        }

        string folder = roots.RootOf(files[0]).FullPath;
        return new ProtocPlan(order, inputs, new DirectoryInfo(folder).Name);
    }
}
