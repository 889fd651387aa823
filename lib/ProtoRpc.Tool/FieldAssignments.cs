using System.Collections;
using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool;

/// <summary>Reads <c>--set outer.inner=value</c>
/// into what <see cref="MessageMapper"/> takes.</summary>
internal static partial class FieldAssignments
{
    public static object Read(RpcMessageInfo type, IEnumerable<string> assignments)
    {
        Dictionary<string, object?> message = [];
        foreach (string assignment in assignments)
        {
            int equals = assignment.IndexOf('=');
            if (equals <= 0)
            {
                throw new UsageException($"--set takes FIELD=VALUE, not '{assignment}'.");
            }

            Assign(type, message, assignment[..equals], assignment[(equals + 1)..]);
        }

        return message;
    }

    private static void Assign(
        RpcMessageInfo? type, Dictionary<string, object?> message, string path, string text)
    {
        string[] steps = Split(path);
        Dictionary<string, object?> target = message;
        foreach (string step in steps[..^1])
        {
            // An unknown name goes on: the mapper names it with its path and the nearest one.
            type = type?.FindField(step)?.MessageType;
            if (!target.TryGetValue(step, out object? inner))
            {
                target[step] = inner = new Dictionary<string, object?>();
            }

            target = inner as Dictionary<string, object?>
                ?? throw new UsageException(
                    $"--set {path}: '{step}' was given a value before; give it fields or a value.");
        }

        string name = steps[^1];
        RpcFieldInfo? field = type?.FindField(name);
        object? value = Value(type, field, path, text);
        if (!target.TryGetValue(name, out object? before))
        {
            target[name] = field is { IsRepeated: true, IsMap: false } && value is not List<object?>
                ? new List<object?> { value }
                : value;
        }
        else if (before is List<object?> list)
        {
            list.AddRange(value as List<object?> ?? [value]);
        }
        else
        {
            throw new UsageException($"--set {path} was given twice, and the field is not repeated.");
        }
    }

    private static string[] Split(string path) => DotBetweenNames().Split(path);

    // Not one in the name of an extension: [package.name].
    [GeneratedRegex("""\.(?![^\[]*\])""")]
    private static partial Regex DotBetweenNames();

    private static object? Value(RpcMessageInfo? type, RpcFieldInfo? field, string path, string text)
    {
        if (field is { MessageType: not null } or { IsRepeated: true }
            && text.StartsWith('{') | text.StartsWith('['))
        {
            return FromJson(type!, field, path, text);
        }

        return field?.Kind == RpcFieldKind.Bool && bool.TryParse(text, out bool flag) ? flag : text;
    }

    // The value is read as a part of its message, so that it may be all that a field can be.
    private static object? FromJson(RpcMessageInfo type, RpcFieldInfo field, string path, string json)
    {
        bool isList = field is { IsRepeated: true, IsMap: false };
        bool isElement = isList && json.StartsWith('{');
        string before = $$"""{"{{field.Name}}":{{(isElement ? "[" : "")}}""";
        string text = $"{before}{json}{(isElement ? "]" : "")}}}";
        FormatOptions options = new() { Schema = type.Schema, Origin = new TextOrigin(0, -before.Length) };
        DynamicMessage part = new(type);
        try
        {
            MessageFormats.Json.Read(new(Encoding.UTF8.GetBytes(text)), part, options);
        }
        catch (RpcException e) when (e.ErrorId == RpcErrorIds.MissingRequiredField)
        {
            // The whole message is checked when it has all its fields.
        }
        catch (RpcException e)
        {
            throw new UsageException($"--set {path}: {e.Message}", e);
        }

        object? value = ((IDictionary)new MessageMapper().ToObject(part))[field.Name];
        return isList ? ((IEnumerable)value!).Cast<object?>().ToList() : value;
    }
}
