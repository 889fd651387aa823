namespace ProtoRpc.Schema;

/// <summary>Writes .proto files into a folder.</summary>
internal static class ProtoFolder
{
    /// <summary>Writes files by their names below a folder.</summary>
    /// <exception cref="RpcException">InvalidArgument, with nothing written, when a name leads out of the folder.
    /// </exception>
    public static IReadOnlyList<string> Write(string folder, IReadOnlyList<KeyValuePair<string, string>> files)
    {
        string root = Path.GetFullPath(folder);
        string[] paths = [.. files.Select(f => PathOf(root, f.Key))];
        for (int i = 0; i < paths.Length; i++)
        {
            Directory.CreateDirectory(Path.GetDirectoryName(paths[i])!);
            File.WriteAllText(paths[i], files[i].Value);
        }

        return paths;
    }

    // The names may come from a peer.
    private static string PathOf(string root, string name)
    {
        string inside = Path.EndsInDirectorySeparator(root) ? root : root + Path.DirectorySeparatorChar;
        bool isPath = name.Length > 0 && name.AsSpan().IndexOfAny('\0', ':', '\\') < 0;
        string path = isPath ? Path.GetFullPath(name, root) : "";
        return path.StartsWith(inside, StringComparison.Ordinal) && path.Length > inside.Length
            ? path
            : throw SchemaError.Invalid(
                $"The file name '{name}' leads out of the folder '{root}'; nothing is written.");
    }
}
