using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that say how replies are written.</summary>
internal sealed class ReplyOptions
{
    private readonly Option<string> _format = new("--format")
    {
        Description = "The format of requests and replies. Requests of a file have the format of its ending.",
        HelpName = "json|text|binary|xml",
        DefaultValueFactory = _ => "json",
    };

    private readonly Option<bool> _compact = new("--compact")
    {
        Description = "Writes each reply in one line, in JSON and XML.",
    };

    private readonly Option<bool> _emitDefaults = new("--emit-defaults")
    {
        Description = "Also writes fields that have their default value, in JSON and XML.",
    };

    private readonly Option<bool> _formatError = new("--format-error")
    {
        Description = "Writes a failure as a google.rpc.Status in JSON, to standard error.",
    };

    public ReplyOptions(Command command)
    {
        _format.AcceptOnlyFromAmong("json", "text", "binary", "xml");
        command.Add(_format);
        command.Add(_compact);
        command.Add(_emitDefaults);
        command.Add(_formatError);
    }

    public MessageFormat Format(ParseResult parsed) =>
        MessageFormats.TryFind(parsed.GetRequiredValue(_format), out MessageFormat? format)
            ? format
            : MessageFormats.Json;

    /// <summary>Whether failures are written as JSON.</summary>
    public bool FormatsErrors(ParseResult parsed) => parsed.GetValue(_formatError);

    /// <summary>What writes the replies of a method.</summary>
    /// <exception cref="UsageException">Binary replies would go to a terminal.</exception>
    public ReplyOutput Output(ParseResult parsed, RpcMethodInfo method, ToolConsole console)
    {
        MessageFormat format = Format(parsed);
        if (!format.IsText && console.IsOutputTerminal)
        {
            throw new UsageException(
                "Binary replies would change how the terminal works. Redirect them to a file with > FILE, or "
                + "give another --format.");
        }

        return new ReplyOutput(console, format, method.IsServerStreaming, new FormatOptions
        {
            Schema = method.ReplyType.Schema,
            Indented = !parsed.GetValue(_compact),
            IncludeDefaults = parsed.GetValue(_emitDefaults),
        });
    }
}
