namespace ProtoRpc.Schema;

/// <summary>What one run of protoc gave.</summary>
/// <param name="Files">The files with their imports.</param>
/// <param name="RootFiles">The names of those that were asked for.</param>
/// <param name="Warnings">Warnings as <c>file:line:column: text</c>.</param>
/// <param name="Label">A name for this run among others.</param>
internal sealed record ProtocResult(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyList<string> RootFiles, IReadOnlyList<string> Warnings, string Label);

/// <summary>Compiles .proto files with protoc.</summary>
internal static class ProtocCompiler
{
    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(60);

    /// <summary>Compiles files; in several runs only where different files have the same name.</summary>
    /// <param name="files">The .proto files.</param>
    /// <param name="importPaths">The user's import paths.</param>
    /// <param name="baseFolder">What relative import paths start from.</param>
    /// <exception cref="RpcException">InvalidArgument with all that protoc found wrong.</exception>
    public static IReadOnlyList<ProtocResult> Compile(
        IReadOnlyList<SourceFile> files, IReadOnlyList<string> importPaths, string baseFolder)
    {
        SourceFile[] folders = [.. importPaths.Select(p => ImportFolder(p, baseFolder)).DistinctBy(f => f.FullPath)];
        string protoc = ProtocLocator.Find();
        return [.. ProtocPlan.Make(files, folders).Select(plan => Run(protoc, plan, Timeout))];
    }

    /// <summary>Runs protoc once.</summary>
    internal static ProtocResult Run(string protoc, ProtocPlan plan, TimeSpan timeout)
    {
        DirectoryInfo work = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string output = Path.Combine(work.FullName, "out.pb");
            string arguments = Path.Combine(work.FullName, "arguments");
            // In a file, because a command line has too little room for many files. UTF-8 without a mark.
            File.WriteAllLines(arguments, Arguments(plan, output, work.FullName));
            ProtocOutput run = ProtocProcess.Run(protoc, arguments, work.FullName, timeout);
            ProtocDiagnostics diagnostics = ProtocDiagnostics.Read(run.Text, plan);
            if (run.ExitCode != 0)
            {
                throw diagnostics.ToException(run.ExitCode);
            }

            string origin = string.Join(", ", plan.Inputs.Take(3).Select(i => $"'{i.Value.Given}'"));
            return new ProtocResult(
                DescriptorSetReader.Read(File.ReadAllBytes(output), origin),
                [.. plan.Inputs.Select(i => i.Key)],
                diagnostics.Warnings,
                plan.Label);
        }
        finally
        {
            work.Delete(recursive: true);
        }
    }

    private static SourceFile ImportFolder(string path, string baseFolder)
    {
        string full = Path.TrimEndingDirectorySeparator(Path.GetFullPath(path, baseFolder));
        return Directory.Exists(full)
            ? new SourceFile(path, full)
            : throw SchemaError.FileNotFound($"The import path '{path}' ({full}) is not a folder.");
    }

    private static IEnumerable<string> Arguments(ProtocPlan plan, string output, string workFolder)
    {
        List<string> arguments = ["--include_imports", "--include_source_info", "--retain_options"];
        arguments.Add($"--descriptor_set_out={output}");
        IEnumerable<string> roots = plan.Roots.Select(r => r.FullPath).Concat(ProtocLocator.IncludeFolders);
        arguments.AddRange(roots.Select((r, i) => "--proto_path==" + Listable(r, workFolder, i)));
        arguments.AddRange(plan.Inputs.Select(i => i.Key));
        return arguments.Any(a => a.AsSpan().IndexOfAny('\n', '\r') >= 0)
            ? throw SchemaError.Invalid("The path of a .proto file has a line break, which protoc cannot read.")
            : arguments;
    }

    // protoc splits its paths at the separator of lists; the equals sign before the path keeps others whole.
    private static string Listable(string folder, string workFolder, int index)
    {
        if (!folder.Contains(Path.PathSeparator))
        {
            return folder;
        }

        string link = Path.Combine(workFolder, $"root{index}");
        try
        {
            Directory.CreateSymbolicLink(link, folder);
            return link;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid(
                $"The path '{folder}' has a '{Path.PathSeparator}', which protoc takes for the end of the path.", e);
        }
    }
}
