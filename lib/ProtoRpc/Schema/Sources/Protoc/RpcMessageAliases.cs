using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Lets all names of rpc_messages.proto mean the file that the user brings by one of them.</summary>
/// <remarks>Without this, a file that imports the user's copy and ProtoRpc's would declare each type
/// twice.</remarks>
internal static partial class RpcMessageAliases
{
    /// <summary>Writes files for the names that the user's folders lack.</summary>
    /// <param name="roots">The user's folders, in order.</param>
    /// <param name="folder">The folder for the files.</param>
    /// <returns>Whether files were written; if not, the shipped files are used.</returns>
    public static bool Write(IReadOnlyList<SourceFile> roots, string folder)
    {
        Dictionary<string, string> brought = [];
        foreach (string name in RpcMessageFiles.Names)
        {
            if (FindIn(roots.Select(r => r.FullPath), name) is { } path)
            {
                brought.Add(name, path);
            }
        }

        Queue<string> open = new(RpcMessageFiles.Names.Except(brought.Keys));
        string? declaring = brought.FirstOrDefault(file => Declares(file.Value)).Key;
        if (brought.Count == 0 || open.Count == 0
            || (declaring is null && !brought.ContainsKey(RpcMessageFiles.Name)))
        {
            return false;
        }

        if (declaring is null)
        {
            // The user's rpc_messages.proto is another one,
            // so the shipped aliases cannot import ours by that name.
            if (FindIn(ProtocLocator.IncludeFolders, RpcMessageFiles.Name) is not { } shipped)
            {
                return false;
            }

            declaring = open.Dequeue();
            File.WriteAllBytes(Prepare(folder, declaring), File.ReadAllBytes(shipped));
        }

        foreach (string name in open)
        {
            File.WriteAllText(
                Prepare(folder, name), $"syntax = \"proto2\";\n\nimport public \"{declaring}\";\n");
        }

        return true;
    }

    private static string? FindIn(IEnumerable<string> folders, string name) =>
        folders.Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);

    private static string Prepare(string folder, string name)
    {
        string path = Path.Combine(folder, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        return path;
    }

    private static bool Declares(string path)
    {
        string text;
        try
        {
            text = File.ReadAllText(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // protoc reports the error if a file imports this one.
            return false;
        }

        return PackageLine().IsMatch(text) && MessageLine().IsMatch(text);
    }

    [GeneratedRegex("""(?:^|;)[^\S\n]*package\s+google\.protobuf\.rpc_messages\s*;""",
        RegexOptions.Multiline | RegexOptions.CultureInvariant)]
    private static partial Regex PackageLine();

    [GeneratedRegex("""\bmessage\s+RpcRequestHeader\b""", RegexOptions.CultureInvariant)]
    private static partial Regex MessageLine();
}
