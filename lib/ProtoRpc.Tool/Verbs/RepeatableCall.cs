using System.CommandLine.Parsing;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The command line that repeats a call, for scripts and bug reports: its requests are written out,
/// and secrets are references to environment variables.</summary>
internal static class RepeatableCall
{
    private const string ExpandHeaders = "--expand-headers";

    /// <summary>The command line of a verb.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="requests">The requests.</param>
    /// <param name="leftOut">The options for the contents of requests.</param>
    public static string Write(
        ParseResult parsed, IReadOnlyList<DynamicMessage> requests, IReadOnlyCollection<Option> leftOut)
    {
        List<string> words = ["protorpc", parsed.CommandResult.Command.Name];
        words.AddRange(parsed.CommandResult.Children.OfType<ArgumentResult>()
            .SelectMany(argument => argument.Tokens).Select(token => token.Value));
        OptionResult[] options =
        [
            .. parsed.CommandResult.Children.OfType<OptionResult>()
                .Where(given => !given.Implicit && !leftOut.Contains(given.Option)),
        ];
        bool expands = Array.Exists(options, given => given.Option.Name == ExpandHeaders);
        bool hasVariables = false;
        foreach (OptionResult given in options)
        {
            if (given.Tokens.Count == 0)
            {
                words.Add(given.Option.Name);
            }

            foreach (Token token in given.Tokens)
            {
                words.Add(given.Option.Name);
                words.Add(WithoutSecret(given.Option.Name, token.Value, expands, ref hasVariables));
            }
        }

        if (hasVariables && !expands)
        {
            words.Add(ExpandHeaders);
        }

        if (requests.Count > 0)
        {
            words.Add("-d");
            words.Add(string.Join(' ', requests.Select(
                request => TerminalText.Neutralize(MessageFormats.Json.ToText(request)))));
        }

        return string.Join(' ', words.Select(word => Quote(word, OperatingSystem.IsWindows())));
    }

    /// <summary>A word as the shell of the system reads it: sh, or PowerShell on Windows.</summary>
    internal static string Quote(string word, bool isWindows) =>
        word.Length > 0
        && word.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.' or '/' or ':' or '=')
            ? word
            : $"'{word.Replace("'", isWindows ? "''" : @"'\''", StringComparison.Ordinal)}'";

    // Without --expand-headers, ${NAME} is not a variable but part of the secret.
    private static string WithoutSecret(string option, string value, bool expands, ref bool hasVariables)
    {
        switch (option)
        {
            case "--bearer" when !SecretText.IsVariable(value):
                return $"{SecretText.Variable}TOKEN";
            case "--user" when value.Split(':', 2) is [var user, var password]
                && !SecretText.IsVariable(password):
                return $"{user}:{SecretText.Variable}PASSWORD";
            case "--header" or "--rpc-header" or "--reflect-header"
                when value.Split(':', 2) is [var name, var text] && HeaderTrace.IsSecret(name)
                && !(expands && text.Contains("${", StringComparison.Ordinal)):
                hasVariables = true;
                return $"{name}: ${{SECRET}}";
            default:
                return value;
        }
    }
}
