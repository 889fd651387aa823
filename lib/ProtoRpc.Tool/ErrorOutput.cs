namespace ProtoRpc.Tool;

/// <summary>Writes a failed call: its status, its text, and what the server adds, decoded.</summary>
internal static class ErrorOutput
{
    private const string Red = "\u001B[31m";
    private const string Faint = "\u001B[2m";
    private const string Reset = "\u001B[0m";

    // A server may add as much as fits into a message; nobody reads more.
    private const int MaxDetails = 20;
    private const int MaxDetailLength = 4000;

    private static readonly FormatOptions Compact = new() { PrintUnknownFields = true };

    public static void Write(ToolConsole console, CallFailedException failure)
    {
        RpcException error = failure.Cause;
        console.WriteError(Paint(console, $"{error.Code}: ", Red) + FlagNames.Of(error));
        foreach (object detail in error.Details.Take(MaxDetails))
        {
            console.Error.WriteLine($"  {Paint(console, TextOf(detail), Faint)}");
        }

        if (error.Details.Count > MaxDetails)
        {
            console.Error.WriteLine($"  and {error.Details.Count - MaxDetails} more details");
        }
    }

    private static string TextOf(object detail)
    {
        string text = detail is DynamicMessage message
            ? $"{message.Type.FullName} {MessageFormats.Json.ToText(message, Compact)}"
            : detail.ToString() ?? "";
        return TerminalText.OneLine(text, MaxDetailLength);
    }

    private static string Paint(ToolConsole console, string text, string colour) =>
        console.IsErrorTerminal ? $"{colour}{text}{Reset}" : text;
}
