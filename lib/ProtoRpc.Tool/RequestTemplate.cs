namespace ProtoRpc.Tool;

/// <summary>A message to fill in, as JSON.</summary>
internal static class RequestTemplate
{
    // Every field, those with their defaults as well.
    private static readonly FormatOptions Filled = new() { Indented = true, IncludeDefaults = true };

    private static readonly MessageMapper Mapper = new();

    /// <summary>The template of a type. Controls in names and defaults are escapes, which JSON
    /// has.</summary>
    /// <exception cref="RpcException">InvalidArgument: the template cuts a required field.</exception>
    public static string Of(RpcMessageInfo type) =>
        TerminalText.Neutralize(
            MessageFormats.Json.ToText(Mapper.ToMessage(type, Mapper.Template(type)), Filled));
}
