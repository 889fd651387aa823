using System.Net;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Reads passwords and tokens of options. Other users of the machine see command lines, so a secret
/// may also be in an environment variable, <c>env:NAME</c>, and a password is asked for.</summary>
internal static class SecretText
{
    private const string Variable = "env:";

    /// <summary>The secret itself.</summary>
    /// <exception cref="UsageException">The variable is not set, or the secret is empty.</exception>
    public static string Read(string option, string text, ToolConsole console)
    {
        string? value = text.StartsWith(Variable, StringComparison.OrdinalIgnoreCase)
            ? console.Variable(text[Variable.Length..])
            : text;
        return value is { Length: > 0 }
            ? value
            : throw new UsageException(text.Length > Variable.Length
                ? $"The environment variable '{text[Variable.Length..]}' of {option} is not set."
                : $"{option} has no secret. Give it, or env:NAME for an environment variable.");
    }

    /// <summary>A name and its password, which a person is asked for if only the name is given.</summary>
    /// <exception cref="UsageException">There is no password, or no name.</exception>
    /// <exception cref="OperationCanceledException">The person does not want to give it.</exception>
    public static NetworkCredential ReadUser(string option, string text, ToolConsole console)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon > 0)
        {
            return new NetworkCredential(text[..colon], Read(option, text[(colon + 1)..], console));
        }

        if (colon < 0 && text.Length > 0 && console.AskSecret is { } ask)
        {
            return ask($"Password of {TerminalText.Neutralize(text)}: ") is { Length: > 0 } password
                ? new NetworkCredential(text, password)
                : throw new UsageException($"{option} '{TerminalText.Neutralize(text)}' has no password.");
        }

        throw new UsageException(
            $"{option} takes NAME:env:VARIABLE to read the password from an environment variable, NAME to "
            + "ask for it at a terminal, or NAME:PASSWORD, which other users of the machine can see.");
    }
}
