using System.CommandLine;
using System.Text;

namespace ProtoRpc.Tool.Manual;

/// <summary>Writes the manual page <c>protorpc.1</c> from the verbs and their options.</summary>
internal static class ManualPage
{
    /// <summary>The page, as roff with the macros of man(7).</summary>
    public static string Write(RootCommand root, string version)
    {
        StringBuilder page = new();
        page.Append($".TH PROTORPC 1 \"\" \"protorpc {Escape(version)}\" \"User Commands\"\n");
        page.Append($".SH NAME\nprotorpc \\- {Escape(LowerFirst(root.Description!).TrimEnd('.'))}\n");
        page.Append(".SH SYNOPSIS\n.B protorpc\n.I VERB\n[\\fIargument\\fR ...] [\\fIoption\\fR ...]\n");
        page.Append(".SH VERBS\n");
        foreach (Command verb in root.Subcommands.Where(verb => !verb.Hidden)
            .OrderBy(verb => verb.Name, StringComparer.Ordinal))
        {
            Write(page, verb);
        }

        page.Append(
            """
            .SH EXIT STATUS
            .TP
            0
            Success.
            .TP
            1
            An error on this side: a schema, a message, a port in use.
            .TP
            2
            The command line cannot be understood.
            .TP
            65 to 80
            The call failed: 64 and the number of its gRPC status, such as 69 for NOT_FOUND.

            """.ReplaceLineEndings("\n"));
        return page.ToString();
    }

    private static void Write(StringBuilder page, Command verb)
    {
        string arguments = string.Join(
            ' ', verb.Arguments.Where(one => !one.Hidden).Select(one => $"\\fI{Escape(one.Name)}\\fR"));
        page.Append($".SS \"protorpc {Escape(verb.Name)} {arguments}\"\n{Escape(verb.Description)}\n");
        foreach (Argument argument in verb.Arguments.Where(one => !one.Hidden))
        {
            page.Append($".TP\n\\fI{Escape(argument.Name)}\\fR\n{Escape(argument.Description)}\n");
        }

        foreach (Option option in verb.Options.Where(one => !one.Hidden))
        {
            string names = string.Join(
                ", ", option.Aliases.Prepend(option.Name).Select(name => $"\\fB{Escape(name)}\\fR"));
            string value = option.HelpName is { } help ? $" \\fI{Escape(help)}\\fR" : "";
            page.Append($".TP\n{names}{value}\n{Escape(option.Description)}\n");
        }

        foreach ((string does, string line) in VerbExamples.Of(verb.Name))
        {
            page.Append($".PP\n{Escape(does)}:\n.PP\n.nf\n.RS\n{Escape(line)}\n.RE\n.fi\n");
        }
    }

    // A backslash begins an escape, a dash is a hyphen, and a dot or quote that begins a line a macro.
    private static string Escape(string? text)
    {
        string escaped = (text ?? "").Replace("\\", "\\e", StringComparison.Ordinal)
            .Replace("-", "\\-", StringComparison.Ordinal)
            .Replace('\n', ' ');
        return escaped.StartsWith('.') || escaped.StartsWith('\'') ? $"\\&{escaped}" : escaped;
    }

    private static string LowerFirst(string text) => char.ToLowerInvariant(text[0]) + text[1..];
}
