namespace ProtoRpc.TestRun.Packing;

/// <summary>The module as a folder: what ships, and nothing else.</summary>
internal static class ModuleFolder
{
    private static readonly string[] RootFiles =
        ["ProtoRpc.psd1", "ProtoRpc.psm1", "LICENSE", "THIRD-PARTY-NOTICES.txt"];

    private static readonly string[] SampleSchemas = ["order.proto", "sample.proto", "search.proto"];

    // Only programs that reference the libraries need symbols and documentation.
    private static readonly string[] NotShipped = [".xml", ".pdb", ".json"];

    /// <summary>Makes the folder again, without files of an earlier run.</summary>
    /// <param name="root">The repository.</param>
    /// <param name="binaries">The folder of the built module.</param>
    /// <param name="output">The folder of all that is packed.</param>
    /// <param name="manifest">The manifest of the module.</param>
    /// <returns>The folder, which has the version as its name, as shells look for modules.</returns>
    public static string Make(string root, string binaries, string output, ModuleManifest manifest)
    {
        string folder = Path.Combine(output, "ProtoRpc", manifest.ModuleVersion);
        if (Directory.Exists(folder))
        {
            Directory.Delete(folder, recursive: true);
        }

        foreach (string name in RootFiles)
        {
            Copy(Path.Combine(root, name), Path.Combine(folder, name));
        }

        foreach (string view in manifest.List("FormatsToProcess"))
        {
            Copy(Path.Combine(root, view), Path.Combine(folder, view));
        }

        foreach (string file in Directory.EnumerateFiles(binaries, "*", SearchOption.AllDirectories)
            .Where(file => !NotShipped.Contains(Path.GetExtension(file))))
        {
            Copy(file, Path.Combine(folder, "bin", Path.GetRelativePath(binaries, file)));
        }

        string help = Path.Combine(root, "docs", "en-US");
        foreach (string file in Directory.EnumerateFiles(help)
            .Where(file => !file.EndsWith(".md", StringComparison.Ordinal)))
        {
            Copy(file, Path.Combine(folder, "en-US", Path.GetFileName(file)));
        }

        // The files that examples in the help refer to, at the same paths as in the repository.
        string[] samples =
        [
            .. SampleSchemas.Select(name => Path.Combine(root, "protos", name)),
            .. Directory.EnumerateFiles(Path.Combine(root, "examples"), "*", SearchOption.AllDirectories),
        ];
        foreach (string file in samples)
        {
            Copy(file, Path.Combine(folder, Path.GetRelativePath(root, file)));
        }

        return folder;
    }

    private static void Copy(string file, string target)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(target)!);
        File.Copy(file, target);
    }
}
