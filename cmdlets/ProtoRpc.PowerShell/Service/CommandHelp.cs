using System.Text;
using ProtoRpc.Commands;

namespace ProtoRpc.PowerShell.Service;

/// <summary>Writes the help of a command as comments of its function, from those of the .proto.</summary>
/// <remarks>Each line is a separate comment, so that no text of a schema can end a comment. A line that
/// PowerShell would read as a keyword of help gets a backslash.</remarks>
internal sealed class CommandHelp(StringBuilder script, TextBudget budget)
{
    private const int MaxLength = 4000;

    private static readonly (string Name, string Help)[] OwnParameters =
    [
        ("InputObject", "The request, as a hashtable or an object. Properties without a field of their name "
            + "are ignored; an unknown key of a hashtable is an error."),
        ("Connection", "The connections to call over. Several are called at the same time. The default is "
            + "the connection of the module, or the only open one."),
        ("Deadline", "How long the call may take: seconds or a TimeSpan."),
        ("Header", "Headers of the call, as a hashtable."),
        ("AsHashtable", "Returns ordered hashtables instead of objects."),
        ("ThrottleLimit", "How many calls for pipeline objects run in parallel."),
        ("AsJob", "Runs the calls in the background, and returns a job."),
    ];

    public void Write(ServiceCommand command)
    {
        RpcMethodInfo method = command.Method;
        string comment = budget.Take(method.Comment, MaxLength);
        int end = comment.IndexOf('\n');
        Section("SYNOPSIS", end < 0 ? comment : comment[..end], $"Calls {method.FullName}.");
        Section("DESCRIPTION", comment, $"Calls {method.FullName}.");
        Line("");
        Line($"Method: {method.FullName}");
        Line($"Request: {Typed(method.IsClientStreaming, method.RequestType)}");
        Line($"Reply: {Typed(method.IsServerStreaming, method.ReplyType)}");
        if (method.IsClientStreaming)
        {
            Line("Each object of the pipeline is a message of the stream.");
        }

        foreach (CommandParameter parameter in command.Parameters)
        {
            Section(
                $"PARAMETER {parameter.Name}", budget.Take(parameter.Field.Comment, MaxLength),
                $"The field {parameter.Field.Name}.");
            Line(budget.Take($"Type: {TypeOf(parameter.Field)}", MaxLength));
        }

        foreach ((string name, string help) in OwnParameters)
        {
            Section($"PARAMETER {name}", help, "");
        }

        Section("EXAMPLE", $"PS> {Example(command)}", "");
        Section("OUTPUTS", method.ReplyType.FullName, "");
    }

    /// <summary>Writes a section with a text.</summary>
    public void Section(string keyword, string text, string otherwise)
    {
        script.Append("    # .").Append(keyword).Append('\n');
        foreach (string line in (text.Trim().Length > 0 ? text : otherwise).Split('\n'))
        {
            Line(line);
        }
    }

    private void Line(string text)
    {
        // The text may come from files with other ends of lines, and the shell ends a comment at them.
        string shown = TerminalText.Neutralize(text.Replace("\r", "", StringComparison.Ordinal));
        string start = shown.TrimStart();
        script.Append("    # ").Append(start.StartsWith('.') ? "\\" + start : shown).Append('\n');
    }

    private static string Typed(bool isStream, RpcMessageInfo type) =>
        isStream ? $"a stream of {type.FullName}" : type.FullName;

    private static string TypeOf(RpcFieldInfo field) =>
        $"{(field.IsRepeated && !field.IsMap ? "list of " : "")}{field.TypeName}"
        + (field.EnumType is { } type
            ? $": {string.Join(", ", type.Values.Take(20).Select(value => value.Key))}" : "")
        + (field.Oneof is { } oneof
            ? $"; one of {string.Join(", ", oneof.Fields.Take(20).Select(other => other.Name))}" : "");

    // The parameters that are mandatory, else the first.
    private static string Example(ServiceCommand command)
    {
        IEnumerable<CommandParameter> wanted = command.Parameters.Where(parameter => parameter.IsMandatory);
        IEnumerable<string> arguments = (wanted.Any() ? wanted : command.Parameters.Take(1))
            .Take(5)
            .Select(parameter => $"-{parameter.Name}{SampleOf(parameter)}");
        return string.Join(' ', arguments.Prepend(command.Name));
    }

    private static string SampleOf(CommandParameter parameter) => parameter switch
    {
        { IsSwitch: true } => "",
        { Field: { EnumType: { Values: [var first, ..] }, IsMap: false } } => $" {first.Key}",
        { Text: ArgumentText.Timestamp } => " (Get-Date)",
        { Text: ArgumentText.Duration } => " 5s",
        { Type: var type } when type == typeof(string) || type == typeof(string[]) =>
            $" '{parameter.Field.Name}'",
        { Type: var type } when type == typeof(object) => " @{}",
        { Field.Kind: RpcFieldKind.Message or RpcFieldKind.Group } => " @{}",
        { Field.Kind: RpcFieldKind.Bool } => " $true",
        { Field.Kind: RpcFieldKind.Bytes } => " 'AQID'",
        _ => " 1",
    };
}
