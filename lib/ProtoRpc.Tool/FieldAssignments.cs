using System.Collections;
using System.Text.RegularExpressions;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool;

/// <summary>Converts <c>--set outer.inner=value</c> to a dictionary for <see
/// cref="MessageMapper"/>.</summary>
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
                throw new UsageException($"--set must be FIELD=VALUE, not '{assignment}'.");
            }

            Assign(type, message, assignment[..equals], assignment[(equals + 1)..]);
        }

        return message;
    }

    /// <summary>The names in a path of fields.</summary>
    public static string[] StepsOf(string path) => DotBetweenNames().Split(path);

    private static void Assign(
        RpcMessageInfo? type, Dictionary<string, object?> message, string path, string text)
    {
        string[] steps = StepsOf(path);
        Dictionary<string, object?> target = message;
        foreach (string step in steps[..^1])
        {
            // An unknown name is kept: the mapper reports it with its path and a suggestion.
            type = type?.FindField(step)?.MessageType;
            if (!target.TryGetValue(step, out object? inner))
            {
                target[step] = inner = new Dictionary<string, object?>();
            }

            target = inner as Dictionary<string, object?>
                ?? throw new UsageException(
                    $"--set {path}: '{step}' already has a value. Give '{step}' fields or a value, not "
                    + "both.");
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
            throw new UsageException(
                $"--set {path} is given twice, but the field is not repeated. Remove one of the two.");
        }
    }

    // Does not match the dots in the name of an extension: [package.name].
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

    // The value is read as a part of its message, so that every JSON form of the field is accepted.
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
            // Missing required fields are reported later, when the message has all its fields.
        }
        catch (RpcException e)
        {
            throw new UsageException($"--set {path}: {e.Message}", e);
        }

        object? value = ((IDictionary)new MessageMapper().ToObject(part))[field.Name];
        return isList ? ((IEnumerable)value!).Cast<object?>().ToList() : value;
    }
}

/// <summary>Messages that an option has as JSON.</summary>
internal static class JsonArgument
{
    /// <summary>The text itself, that of <c>@FILE</c>, or for <c>-</c>, <c>@</c> and <c>@-</c> all of
    /// standard input.</summary>
    public static string Text(string text, TextReader input) => text switch
    {
        "-" or "@" or "@-" => input.ReadToEnd(),
        ['@', .. string path] => ReadFile(path, File.ReadAllText),
        _ => text,
    };

    /// <summary>Reads the file of an <c>@FILE</c>.</summary>
    /// <exception cref="RpcException">It cannot be read.</exception>
    public static T ReadFile<T>(string path, Func<string, T> read)
    {
        try
        {
            return read(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException)
        {
            string full = path.Length == 0 ? path : Path.GetFullPath(path);
            throw new RpcException(
                RpcStatusCode.NotFound, RpcErrorIds.FileNotFound,
                $"The file '{full}' of '@{path}' cannot be read: {FileProblem.Describe(e, full)}.", e);
        }
    }

    /// <summary>The messages of a text, one after the other; of a stream also the elements of an
    /// array.</summary>
    /// <param name="type">Their type.</param>
    /// <param name="json">The text.</param>
    /// <param name="isStream">Whether the text contains a stream of messages.</param>
    /// <param name="where">The name of the text in errors.</param>
    /// <exception cref="RpcException">InvalidArgument: the text does not contain messages of the
    /// type.</exception>
    public static IReadOnlyList<DynamicMessage> Read(
        RpcMessageInfo type, string json, bool isStream, string where)
    {
        try
        {
            return JsonMessages.Read(type, json, isStream);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{where}: {e.Message}");
        }
    }
}

/// <summary>A message to fill in, as JSON.</summary>
internal static class RequestTemplate
{
    // A template shows every field, including those with default values.
    private static readonly FormatOptions Filled = new() { Indented = true, IncludeDefaults = true };

    private static readonly MessageMapper Mapper = new();

    /// <summary>The template of a type. Controls in names and defaults are escapes, which JSON has.</summary>
    /// <exception cref="RpcException">InvalidArgument: the template cuts a required field.</exception>
    public static string Create(RpcMessageInfo type) =>
        TerminalText.Neutralize(
            MessageFormats.Json.ToText(Mapper.ToMessage(type, Mapper.Template(type)), Filled));
}
