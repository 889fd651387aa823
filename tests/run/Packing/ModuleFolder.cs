namespace ProtoRpc.TestRun.Packing;

/// <summary>The module as a folder: what ships, and nothing else.</summary>
internal static class ModuleFolder
{
    private static readonly string[] RootFiles =
        ["ProtoRpc.psd1", "ProtoRpc.psm1", "LICENSE", "THIRD-PARTY-NOTICES.txt"];

    // Symbols and documentation of the libraries are for programs that reference them.
    private static readonly string[] NotShipped = [".xml", ".pdb", ".json"];

    /// <summary>Makes the folder anew.</summary>
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
        foreach (string file in Directory.EnumerateFiles(help, "*-Help.xml"))
        {
            Copy(file, Path.Combine(folder, "en-US", Path.GetFileName(file)));
        }

        foreach (string topic in Directory.EnumerateFiles(help, "about_*.md"))
        {
            Copy(topic, Path.Combine(folder, "en-US", $"{Path.GetFileNameWithoutExtension(topic)}.help.txt"));
        }

        return folder;
    }

    private static void Copy(string file, string target)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(target)!);
        File.Copy(file, target);
    }
}
