namespace ProtoRpc.Schema.Text;

/// <summary>Options as .proto files write them.</summary>
internal sealed class ProtoTextOptions(RpcSchema schema, ProtoTextNames names, ProtoText text)
{
    private const int MaxLine = 100;
    private const string Features = "features";

    /// <summary>Writes options as statements.</summary>
    /// <param name="typeName">The options' type without package: <c>FileOptions</c>.</param>
    /// <param name="options">The options, or null.</param>
    /// <param name="scope">The full name of the message or package from
    /// which their names are looked for.</param>
    public void WriteStatements(string typeName, IMessage? options, string scope)
    {
        foreach (string assignment in Assignments(typeName, options, scope, text.Depth))
        {
            text.Line($"option {assignment};");
        }
    }

    /// <summary>The options of a field, value or range, each as <c>name = value</c>,
    /// for <see cref="WithList"/>.
    /// </summary>
    public IReadOnlyList<string> Assignments(string typeName, IMessage? options, string scope) =>
        Assignments(typeName, options, scope, text.Depth + 1);

    /// <summary>A declaration with its options in brackets: on its line, or one option on each line if it is
    /// too long.</summary>
    public string WithList(string head, IReadOnlyList<string> assignments)
    {
        if (assignments.Count == 0)
        {
            return head;
        }

        string inline = $"{head} [{string.Join(", ", assignments)}]";
        bool isLong = inline.Length + (2 * text.Depth) > MaxLine || inline.Contains('\n');
        string indent = new(' ', 2 * text.Depth);
        return isLong
            ? $"{head} [\n{indent}  {string.Join($",\n{indent}  ", assignments)}\n{indent}]"
            : inline;
    }

    private IReadOnlyList<string> Assignments(string typeName, IMessage? options, string scope, int depth)
    {
        if (options is null)
        {
            return [];
        }

        OptionMessage decoded = OptionReader.Decode(schema, typeName, options);
        foreach (int number in UnknownNumbers(decoded))
        {
            text.Line($"// Option {number} of {typeName} is not declared in this schema.");
        }

        List<string> assignments = [];
        Add(decoded, "", scope, depth, assignments);
        return assignments;
    }

    private void Add(OptionMessage message, string prefix, string scope, int depth, List<string> assignments)
    {
        foreach (OptionField field in message.Fields)
        {
            string name = prefix + (field.Field.IsExtension
                ? $"({names.Full(field.Field.FullName, scope)})"
                : field.Field.Name);
            foreach (object value in field.Values)
            {
                bool isFeatures = prefix.Length > 0 || name == Features;
                if (value is OptionMessage inner && isFeatures && !field.Field.IsRepeated)
                {
                    // Each feature is written as a separate assignment.
                    Add(inner, name + ".", scope, depth, assignments);
                }
                else
                {
                    assignments.Add($"{name} = {Value(field.Field, value, depth)}");
                }
            }
        }
    }

    private static IEnumerable<int> UnknownNumbers(OptionMessage message) =>
        message.Unknown.Select(u => u.Key)
            .Concat(
                message.Fields.SelectMany(f => f.Values).OfType<OptionMessage>().SelectMany(UnknownNumbers));

    private static string Value(RpcFieldInfo field, object value, int depth)
    {
        if (value is not OptionMessage message)
        {
            return ProtoTextLiteral.Format(field, value);
        }

        string inline = $"{{ {string.Join(' ', message.Fields.SelectMany(Inline))} }}";
        if (inline.Length <= MaxLine - (2 * depth) - 30)
        {
            return message.Fields.Count == 0 ? "{}" : inline;
        }

        string indent = new(' ', 2 * depth);
        IEnumerable<string> lines = message.Fields
            .SelectMany(f => f.Values.Select(v => Line(f.Field, v, depth + 1)));
        return $"{{\n{string.Join('\n', lines)}\n{indent}}}";
    }

    private static string Line(RpcFieldInfo field, object value, int depth)
    {
        string separator = value is OptionMessage ? " " : ": ";
        return new string(' ', 2 * depth) + TextName(field) + separator + Value(field, value, depth);
    }

    private static IEnumerable<string> Inline(OptionField field) => field.Values.Select(value =>
        value is OptionMessage message
            ? $"{TextName(field.Field)} {{ {string.Join(' ', message.Fields.SelectMany(Inline))} }}"
            : $"{TextName(field.Field)}: {ProtoTextLiteral.Format(field.Field, value)}");

    // In the text format, a group of proto2 has the name of its type.
    private static string TextName(RpcFieldInfo field) =>
        field.IsDeclaredGroup && !field.IsExtension ? field.MessageType!.Name : field.Name;
}

/// <summary>Values as .proto files and the text format write them.</summary>
internal static class ProtoTextLiteral
{
    /// <summary>A scalar of an option: number, bool, string, bytes or enum.</summary>
    public static string Format(RpcFieldInfo field, object value) => value switch
    {
        string text => Quote(text),
        byte[] bytes => Quote(bytes),
        bool flag => flag ? "true" : "false",
        double number => Format(number, number.ToString("R", CultureInfo.InvariantCulture)),
        float number => Format(number, number.ToString("R", CultureInfo.InvariantCulture)),
        int number when field.Kind == RpcFieldKind.Enum
            && field.EnumType!.FindName(number) is { } name => name,
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    /// <summary>Quotes a text; characters outside ASCII are not escaped.</summary>
    public static string Quote(string text)
    {
        StringBuilder quoted = new("\"");
        foreach (char c in text)
        {
            // Control characters up to 0x7F are one byte in UTF-8 and are escaped; other characters are not.
            AppendEscaped(quoted, c, isPlain: c >= 0x80);
        }

        return quoted.Append('"').ToString();
    }

    /// <summary>Bytes in quotes, as ASCII.</summary>
    public static string Quote(ReadOnlySpan<byte> bytes)
    {
        StringBuilder quoted = new("\"");
        foreach (byte b in bytes)
        {
            AppendEscaped(quoted, (char)b, isPlain: false);
        }

        return quoted.Append('"').ToString();
    }

    private static string Format(double number, string text) =>
        double.IsNaN(number) ? "nan"
        : double.IsPositiveInfinity(number) ? "inf"
        : double.IsNegativeInfinity(number) ? "-inf"
        : text;

    private static void AppendEscaped(StringBuilder quoted, char c, bool isPlain)
    {
        string? escape = c switch
        {
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '"' => "\\\"",
            '\\' => "\\\\",
            _ => null,
        };
        if (escape is not null)
        {
            quoted.Append(escape);
        }
        else if (isPlain || c is >= ' ' and <= '~')
        {
            quoted.Append(c);
        }
        else
        {
            // Always three octal digits, so that a following digit does not become part of the escape.
            quoted.Append('\\').Append(Convert.ToString(c, 8).PadLeft(3, '0'));
        }
    }
}
