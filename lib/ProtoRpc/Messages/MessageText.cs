namespace ProtoRpc.Messages;

/// <summary>A message as one line, near to protobuf's text format, for error messages and
/// debuggers.</summary>
internal static class MessageText
{
    public static string Format(DynamicMessage message)
    {
        StringBuilder text = new();
        Append(text, message, 0);
        return text.ToString();
    }

    /// <summary>A map's key as paths show it.</summary>
    public static string OfKey(object? key) =>
        key is string text ? Quote(text) : Convert.ToString(key, CultureInfo.InvariantCulture) ?? "null";

    private static void Append(StringBuilder text, DynamicMessage message, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            text.Append("...");
            return;
        }
        foreach (FieldLayout field in message.Layout.Fields.Where(message.Has))
        {
            if (!field.IsReference)
            {
                AppendField(text, field, ScalarValue.Box(field.Kind, message.Scalars[field.Slot]), depth);
                continue;
            }
            switch (message.References[field.Slot])
            {
                case OrderedDictionary<object, object> map:
                    foreach ((object key, object value) in map)
                    {
                        Separate(text).Append(field.Info.Name).Append(" {");
                        AppendField(text, field.Key, key, depth + 1);
                        AppendField(text, field.Value, value, depth + 1);
                        text.Append(" }");
                    }
                    break;
                case System.Collections.IList list when field.IsRepeated:
                    foreach (object item in list)
                    {
                        AppendField(text, field, item, depth);
                    }
                    break;
                case { } value:
                    AppendField(text, field, value, depth);
                    break;
            }
        }
        if (!message.UnknownFieldBytes.IsEmpty)
        {
            Separate(text).Append(
                CultureInfo.InvariantCulture, $"# {message.UnknownFieldBytes.Length} unknown bytes");
        }
    }

    private static void AppendField(StringBuilder text, FieldLayout field, object value, int depth)
    {
        Separate(text).Append(field.Info.Name);
        if (value is DynamicMessage child)
        {
            text.Append(" {");
            Append(text, child, depth + 1);
            text.Append(" }");
            return;
        }
        text.Append(": ").Append(value switch
        {
            string content => Quote(content),
            byte[] bytes => Quote(bytes),
            bool flag => flag ? "true" : "false",
            int number when field.Kind == RpcFieldKind.Enum =>
                field.Enum!.FindName(number) ?? number.ToString(CultureInfo.InvariantCulture),
            _ => Convert.ToString(value, CultureInfo.InvariantCulture),
        });
    }

    private static StringBuilder Separate(StringBuilder text) => text.Length == 0 ? text : text.Append(' ');

    // Like the text format of Protocol Buffers: all bytes except printable ASCII are octal escapes.
    private static string Quote(byte[] bytes)
    {
        StringBuilder quoted = new("\"", bytes.Length + 2);
        foreach (byte b in bytes)
        {
            _ = b switch
            {
                (byte)'"' or (byte)'\\' => quoted.Append('\\').Append((char)b),
                >= (byte)' ' and <= (byte)'~' => quoted.Append((char)b),
                _ => quoted.Append('\\').Append((char)('0' + (b >> 6))).Append((char)('0' + ((b >> 3) & 7)))
                    .Append((char)('0' + (b & 7))),
            };
        }

        return quoted.Append('"').ToString();
    }

    private static string Quote(string text)
    {
        StringBuilder quoted = new("\"", text.Length + 2);
        foreach (char c in text)
        {
            _ = c switch
            {
                '"' or '\\' => quoted.Append('\\').Append(c),
                '\n' => quoted.Append("\\n"),
                '\r' => quoted.Append("\\r"),
                '\t' => quoted.Append("\\t"),
                < ' ' => quoted.Append(CultureInfo.InvariantCulture, $"\\u{(int)c:x4}"),
                _ => quoted.Append(c),
            };
        }
        return quoted.Append('"').ToString();
    }
}
