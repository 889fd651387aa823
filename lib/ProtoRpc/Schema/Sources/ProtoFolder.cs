namespace ProtoRpc.Schema.Sources;

/// <summary>Writes .proto files into a folder. A peer may choose their names, so names that lead outside the
/// folder are rejected.</summary>
internal static class ProtoFolder
{
    private static readonly SearchValues<char> Forbidden =
        SearchValues.Create([':', '\\', .. Enumerable.Range(0, ' ').Select(c => (char)c), '\u007F']);

    // Windows opens a device for these names, in every folder and with every extension.
    private static readonly HashSet<string> Devices = new(StringComparer.OrdinalIgnoreCase)
    {
        "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$",
        "COM0", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8", "COM9",
        "COM\u00B9", "COM\u00B2",
        "COM\u00B3", "LPT0", "LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8",
        "LPT9", "LPT\u00B9",
        "LPT\u00B2", "LPT\u00B3",
    };

    /// <summary>Writes files by their names below a folder. An existing file is replaced. A link is also
    /// replaced, and not followed.</summary>
    /// <exception cref="RpcException">InvalidArgument: a name leads out of the folder; nothing is written.
    /// FailedPrecondition: a folder on the path is a link.</exception>
    public static IReadOnlyList<string> Write(
        string folder, IReadOnlyList<KeyValuePair<string, string>> files)
    {
        string root = Path.GetFullPath(folder);
        string[] paths = [.. files.Select(f => PathOf(root, f.Key, OperatingSystem.IsWindows()))];
        foreach (string path in paths)
        {
            RefuseLinks(root, path);
        }

        for (int i = 0; i < paths.Length; i++)
        {
            string parent = Path.GetDirectoryName(paths[i])!;
            Directory.CreateDirectory(parent);
            // File.Move replaces a link or a pipe at the target. Writing to the target would open it.
            string temporary = Path.Combine(parent, $".{Guid.NewGuid():N}.tmp");
            try
            {
                File.WriteAllText(temporary, files[i].Value);
                File.Move(temporary, paths[i], overwrite: true);
            }
            finally
            {
                File.Delete(temporary);
            }
        }

        return paths;
    }

    /// <summary>The path to write a file with a given name to.</summary>
    /// <exception cref="RpcException">InvalidArgument when the name leads out of the folder.</exception>
    internal static string PathOf(string root, string name, bool isWindows)
    {
        string[] parts = name.Split('/');
        bool isInside = name.AsSpan().IndexOfAny(Forbidden) < 0
            && parts.All(part => part is not ("" or "." or "..") && !(isWindows && IsDevice(part)));
        return isInside
            ? Path.Combine([root, .. parts])
            : throw SchemaError.Invalid(
                $"The file name '{name}' leads out of the folder '{root}' or is not the name of a file; "
                + "nothing is written. Export a descriptor set, which keeps every name.");
    }

    // Windows removes dots and blanks at the end of a name.
    private static bool IsDevice(string part) =>
        part[^1] is '.' or ' ' || Devices.Contains(part.Split('.')[0].TrimEnd(' '));

    private static void RefuseLinks(string root, string path)
    {
        string folder = root;
        foreach (string part in Path.GetRelativePath(root, path).Split(Path.DirectorySeparatorChar)[..^1])
        {
            folder = Path.Combine(folder, part);
            if (new DirectoryInfo(folder).LinkTarget is { } target)
            {
                throw new RpcException(
                    RpcStatusCode.FailedPrecondition, RpcErrorIds.SchemaError,
                    $"'{folder}' is a link to '{target}', and files are only written inside '{root}'; "
                    + "nothing is written. Remove the link, or choose another folder.");
            }
        }
    }
}
