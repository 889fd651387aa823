using System.CommandLine;
using System.Text.RegularExpressions;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that say which headers are sent.</summary>
internal sealed partial class HeaderOptions
{
    private readonly Option<string[]> _headers = new("--header", "-H")
    {
        Description = "A header of each call; under a name that ends in -bin, bytes as base64; may be "
            + "repeated.",
        HelpName = "NAME: VALUE",
    };

    private readonly Option<string[]> _ofCalls = new("--rpc-header")
    {
        Description = "A header that is sent with the call and not with reflection; may be repeated.",
        HelpName = "NAME: VALUE",
    };

    private readonly Option<string[]> _ofReflection = new("--reflect-header")
    {
        Description = "A header that is sent with reflection and not with the call; may be repeated.",
        HelpName = "NAME: VALUE",
    };

    private readonly Option<bool> _expands = new("--expand-headers")
    {
        Description = "Replaces ${NAME} in headers by the environment variable.",
    };

    /// <param name="command">Gets the options.</param>
    /// <param name="reflects">Whether the command asks servers for their schema.</param>
    public HeaderOptions(Command command, bool reflects)
    {
        command.Add(_headers);
        command.Add(_expands);
        if (reflects)
        {
            command.Add(_ofCalls);
            command.Add(_ofReflection);
        }
    }

    /// <summary>The headers of everything that is sent.</summary>
    /// <exception cref="UsageException">A header has no name, cannot be sent, or names a variable that is not
    /// set.</exception>
    public RpcMetadata OfAll(ParseResult parsed, ToolConsole console) => Read(_headers, parsed, console);

    /// <summary>The headers of the call alone.</summary>
    /// <inheritdoc cref="OfAll"/>
    public RpcMetadata OfCall(ParseResult parsed, ToolConsole console) => Read(_ofCalls, parsed, console);

    /// <summary>The headers of reflection alone.</summary>
    /// <inheritdoc cref="OfAll"/>
    public RpcMetadata OfReflection(ParseResult parsed, ToolConsole console) =>
        Read(_ofReflection, parsed, console);

    [GeneratedRegex(@"\$\{(?<name>\w+)\}")]
    private static partial Regex Variable();

    private RpcMetadata Read(Option<string[]> option, ParseResult parsed, ToolConsole console)
    {
        RpcMetadata headers = new();
        foreach (string given in parsed.GetValue(option) ?? [])
        {
            string text = parsed.GetValue(_expands) ? Expand(option, given, console) : given;
            int colon = text.IndexOf(':', StringComparison.Ordinal);
            if (colon < 1)
            {
                throw new UsageException($"{option.Name} '{text}' has no name. Write 'NAME: VALUE'.");
            }

            Add(option, headers, text[..colon].Trim(), text[(colon + 1)..].Trim());
        }

        return headers;
    }

    private static string Expand(Option option, string text, ToolConsole console) =>
        Variable().Replace(text, match => console.Variable(match.Groups["name"].Value)
            ?? throw new UsageException(
                $"The environment variable '{match.Groups["name"].Value}' of {option.Name} is not set."));

    private static void Add(Option option, RpcMetadata headers, string name, string value)
    {
        try
        {
            if (!name.EndsWith("-bin", StringComparison.OrdinalIgnoreCase))
            {
                headers.Add(name, value);
            }
            else if (Base64Text.TryDecode(value, out byte[]? bytes))
            {
                headers.Add(name, bytes);
            }
            else
            {
                throw new UsageException(
                    $"The value of {option.Name} '{name}' is not base64, as its name says.");
            }
        }
        catch (RpcException e)
        {
            throw new UsageException(e.Message);
        }
    }
}
