using ProtoRpc.Formats.Sequences;

namespace ProtoRpc.Tool;

/// <summary>Messages that an option has as JSON.</summary>
internal static class JsonArgument
{
    /// <summary>The text itself, that of <c>@FILE</c>, or for <c>-</c>, <c>@</c> and <c>@-</c> all of
    /// standard input.</summary>
    public static string Text(string text, TextReader input) => text switch
    {
        "-" or "@" or "@-" => input.ReadToEnd(),
        ['@', .. string path] => File.ReadAllText(path),
        _ => text,
    };

    /// <summary>The messages of a text, one after the other; of a stream also the elements of an
    /// array.</summary>
    /// <param name="type">Their type.</param>
    /// <param name="json">The text.</param>
    /// <param name="isStream">Whether they are a stream.</param>
    /// <param name="where">What errors call the text.</param>
    /// <exception cref="RpcException">InvalidArgument: they are not messages of the type.</exception>
    public static IReadOnlyList<DynamicMessage> Read(
        RpcMessageInfo type, string json, bool isStream, string where)
    {
        try
        {
            return JsonMessages.Read(type, json, isStream);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{where}: {e.Message}");
        }
    }
}
