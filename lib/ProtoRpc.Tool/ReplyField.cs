using System.Collections;
using System.Globalization;

namespace ProtoRpc.Tool;

/// <summary>A single field of replies to write: bytes unchanged, other values as text, each on a
/// line.</summary>
internal sealed class ReplyField
{
    private readonly RpcFieldInfo[] _steps;

    private ReplyField(RpcFieldInfo[] steps) => _steps = steps;

    /// <summary>Whether the values are bytes.</summary>
    public bool IsBytes => _steps[^1].Kind == RpcFieldKind.Bytes;

    /// <summary>Finds a field by its path, <c>outer.inner</c>.</summary>
    /// <exception cref="UsageException">The type has no such field, or it is a map.</exception>
    public static ReplyField Find(RpcMessageInfo type, string path)
    {
        List<RpcFieldInfo> steps = [];
        RpcMessageInfo? at = type;
        foreach (string step in FieldAssignments.StepsOf(path))
        {
            RpcMessageInfo inside = at ?? throw new UsageException(
                $"--field {path}: '{steps[^1].Name}' has no fields.");
            RpcFieldInfo field = inside.FindField(step) ?? throw new UsageException(
                $"--field {path}: {inside.FullName} has no field '{step}'."
                + NearestName.Hint(step, inside.Fields.Select(one => one.Name)));
            if (field.IsMap)
            {
                throw new UsageException($"--field {path}: '{step}' is a map, whose values have no order.");
            }

            steps.Add(field);
            at = field.MessageType;
        }

        return new ReplyField([.. steps]);
    }

    /// <summary>Writes the values that a reply has; several of a repeated field.</summary>
    public void Write(ToolConsole console, DynamicMessage reply)
    {
        foreach (object value in ValuesOf(reply, 0))
        {
            if (value is byte[] bytes)
            {
                Stream output = console.OutputStream;
                ToolConsole.Guard(() =>
                {
                    output.Write(bytes);
                    output.Flush();
                });
            }
            else
            {
                string text = TextOf(value);
                console.WriteLine(console.IsOutputTerminal ? TerminalText.Neutralize(text) : text);
            }
        }
    }

    private IEnumerable<object> ValuesOf(DynamicMessage message, int step)
    {
        object? value = message[_steps[step].Name];
        IEnumerable<object?> values = value is IEnumerable list and not (string or byte[])
            ? list.Cast<object?>()
            : [value];
        return step == _steps.Length - 1
            ? values.OfType<object>()
            : values.OfType<DynamicMessage>().SelectMany(inner => ValuesOf(inner, step + 1));
    }

    private string TextOf(object value) => value switch
    {
        int number when _steps[^1].EnumType?.FindName(number) is { } name => name,
        DynamicMessage message => MessageFormats.Json.ToText(message),
        bool flag => flag ? "true" : "false",
        _ => Convert.ToString(value, CultureInfo.InvariantCulture) ?? "",
    };
}
