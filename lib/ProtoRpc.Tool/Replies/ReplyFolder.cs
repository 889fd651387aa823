using ProtoRpc.Formats;

namespace ProtoRpc.Tool.Replies;

/// <summary>A folder with a reply file for each method: <c>Search.json</c>, <c>shop.Orders.Place.json</c>, or
/// <c>shop.Orders/Place.json</c> in a folder of the service.</summary>
internal static class ReplyFolder
{
    private const string TemplateEnding = ".template.json";

    /// <summary>The handlers of the files, by the full names of their methods.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="methods">The methods that are served.</param>
    /// <exception cref="UsageException">The folder does not exist, a file belongs to no method, two files
    /// belong to one method, or a file is not a reply of its method.</exception>
    public static IReadOnlyDictionary<string, RpcMethodHandler> Read(
        string folder, IReadOnlyList<RpcMethodInfo> methods)
    {
        if (!Directory.Exists(folder))
        {
            throw new UsageException($"--reply-dir '{folder}' is not a folder.");
        }

        Dictionary<string, RpcMethodHandler> handlers = [];
        foreach (string path in Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories)
            .Order(StringComparer.Ordinal))
        {
            string name = Path.GetRelativePath(folder, path).Replace('\\', '/');
            bool isTemplate = name.EndsWith(TemplateEnding, StringComparison.OrdinalIgnoreCase);
            MessageFormat? format = null;
            if (!isTemplate && !MessageFormats.TryFindByFile(path, out format))
            {
                // Other files in the folder, such as notes, are ignored.
                continue;
            }

            string ending = isTemplate
                ? TemplateEnding
                : format!.FileExtensions.First(
                    one => name.EndsWith(one, StringComparison.OrdinalIgnoreCase));
            RpcMethodInfo method = MethodNames.Find(methods, name[..^ending.Length], $"'{path}'");
            RpcMethodHandler handler = isTemplate
                ? TemplateHandler.Create(method, File.ReadAllText(path), $"'{path}'")
                : RpcMethodHandler.OfReplies(Replies(method, format!, path));
            if (!handlers.TryAdd(method.FullName, handler))
            {
                throw new UsageException($"--reply-dir has a second file for {method.FullName}: '{path}'.");
            }
        }

        return handlers;
    }

    private static IEnumerable<object> Replies(RpcMethodInfo method, MessageFormat format, string path)
    {
        try
        {
            return format == MessageFormats.Json
                ? JsonMessages.Read(method.ReplyType, File.ReadAllText(path), method.IsServerStreaming)
                : [
                    format.Read(
                        method.ReplyType, File.ReadAllBytes(path),
                        new FormatOptions { Schema = method.ReplyType.Schema }),
                ];
        }
        catch (RpcException e)
        {
            throw new UsageException($"'{path}' is not a reply of {method.FullName}: {e.Message}", e);
        }
    }
}
