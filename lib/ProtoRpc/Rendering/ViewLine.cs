using System.Collections;

namespace ProtoRpc.Rendering;

/// <summary>Writes values in one line, near to protobuf's text format, until the line is full:
/// <c>{ url: "a", tags: ["x", "y"], size { width: 1 } }</c>.</summary>
internal sealed class ViewLine
{
    private const int MaxDepth = 8;
    private const int MaxKeyPart = 2048;

    private readonly IObjectModel _objects;
    private readonly int _most;
    private readonly StringBuilder _text = new();

    private ViewLine(IObjectModel objects, int most)
    {
        _objects = objects;
        _most = most;
    }

    private bool IsFull => _text.Length > _most;

    /// <summary>The value, limited to a number of cells.</summary>
    /// <param name="objects">How objects are read.</param>
    /// <param name="value">The value.</param>
    /// <param name="field">The field of the value, if it is known.</param>
    /// <param name="cells">How long the line is.</param>
    /// <param name="fits">Whether the value is complete.</param>
    /// <param name="quotes">Whether to quote text.</param>
    public static string Format(
        IObjectModel objects, object? value, RpcFieldInfo? field, int cells, out bool fits,
        bool quotes = true)
    {
        ViewLine line = new(objects, cells);
        ViewValue seen = ViewValue.From(objects, value, cells);
        if (!quotes && seen is { Kind: ViewKind.Text, Value: string text })
        {
            ViewText.Append(line._text, text, cells + 1, quoted: false);
        }
        else
        {
            line.Write(seen, field, 0);
        }

        string all = line._text.ToString();
        string shown = ViewText.Shorten(all, cells);
        fits = ReferenceEquals(all, shown);
        return shown;
    }

    /// <summary>An object with its type in <c>@type</c>, limited to a number of cells:
    /// <c>google.rpc.ErrorInfo { reason: "QUOTA" }</c>.</summary>
    /// <param name="objects">How objects are read.</param>
    /// <param name="value">The object. One without <c>@type</c> is shown as any other value.</param>
    /// <param name="type">The type of the object, where that is known.</param>
    /// <param name="cells">How long the line is.</param>
    public static string FormatTyped(IObjectModel objects, object value, RpcMessageInfo? type, int cells)
    {
        ViewMember[] members = [.. ViewMember.GetMembers(objects, value, type)];
        if (members is not [{ Name: ViewMember.TypeKey, Value: string name }, ..])
        {
            return Format(objects, value, null, cells, out _);
        }

        ViewLine line = new(objects, cells);
        ViewText.Append(line._text, name.AsSpan(name.LastIndexOf('/') + 1), cells, quoted: false);
        line._text.Append(' ');
        line.WriteMembers(members.Skip(1), 0);
        return ViewText.Shorten(line._text.ToString(), cells);
    }

    /// <summary>The key of a map entry, limited to a number of cells; the middle of a longer key is
    /// omitted.</summary>
    public static string KeyOf(object key, int cells)
    {
        // Only the shown parts are escaped, because a key can be very long.
        if (key is string { Length: > 2 * MaxKeyPart } name)
        {
            key = string.Concat(name.AsSpan(0, MaxKeyPart), ViewText.Ellipsis, name.AsSpan(^MaxKeyPart..));
        }

        StringBuilder text = new();
        AppendKey(text, key, int.MaxValue / 2);
        return ViewText.ShortenName(text.ToString(), Math.Min(cells, MaxKeyPart));
    }

    private static void AppendKey(StringBuilder text, object key, int most)
    {
        if (key is string name)
        {
            text.Append('"');
            ViewText.Append(text, name, most, quoted: true);
            text.Append('"');
        }
        else
        {
            string other = key is bool flag
                ? flag ? "true" : "false"
                : Convert.ToString(key, CultureInfo.InvariantCulture) ?? "";
            ViewText.Append(text, other, most, quoted: false);
        }
    }

    private void Write(ViewValue seen, RpcFieldInfo? field, int depth)
    {
        switch (seen.Kind)
        {
            case ViewKind.Absent:
                _text.Append(depth == 0 ? "" : "null");
                break;
            case ViewKind.Text when field?.EnumType is not null:
                ViewText.Append(_text, (string)seen.Value!, _most, quoted: false);
                break;
            case ViewKind.Text:
                _text.Append('"');
                if (ViewText.Append(_text, (string)seen.Value!, _most, quoted: true))
                {
                    _text.Append('"');
                }

                break;
            case ViewKind.Bytes:
                _text.Append(depth == 0 ? seen.BytesText : $"<{seen.BytesText}>");
                break;
            case ViewKind.Message:
                WriteMessage(seen.Value!, field?.MessageType, depth);
                break;
            case ViewKind.List:
                WriteList(seen, field, depth);
                break;
            case ViewKind.Map:
                WriteMap(seen, field, depth);
                break;
            default:
                ViewText.Append(_text, (string)seen.Value!, _most, quoted: false);
                break;
        }
    }

    private void WriteMessage(object message, RpcMessageInfo? type, int depth)
    {
        if (depth > MaxDepth)
        {
            _text.Append("{ … }");
            return;
        }

        WriteMembers(ViewMember.GetMembers(_objects, message, type), depth);
    }

    private void WriteMembers(IEnumerable<ViewMember> members, int depth)
    {
        bool isFirst = true;
        foreach (ViewMember member in members)
        {
            ViewValue seen = ViewValue.From(_objects, member.Value, _most);
            if (member.IsOmitted(seen))
            {
                continue;
            }

            if (IsFull)
            {
                return;
            }

            _text.Append(isFirst ? "{ " : ", ");
            isFirst = false;
            ViewText.Append(_text, member.Name, _most, quoted: false);
            _text.Append(seen.Kind is ViewKind.Message ? " " : ": ");
            Write(seen, member.Field, depth + 1);
            _text.Append(member.IsUnread ? $" ({ViewMember.UnreadNote})" : "");
        }

        _text.Append(isFirst ? "{}" : " }");
    }

    private void WriteList(ViewValue seen, RpcFieldInfo? field, int depth)
    {
        _text.Append('[');
        int written = 0;
        foreach (object? item in depth > MaxDepth ? Array.Empty<object>() : (IEnumerable)seen.Value!)
        {
            if (IsFull)
            {
                return;
            }

            _text.Append(written++ == 0 ? "" : ", ");
            Write(ViewValue.From(_objects, item, _most), field, depth + 1);
        }

        Close(written, seen.Count, ']');
    }

    private void WriteMap(ViewValue seen, RpcFieldInfo? field, int depth)
    {
        _text.Append('{');
        int written = 0;
        if (depth <= MaxDepth)
        {
            foreach (DictionaryEntry entry in (IDictionary)seen.Value!)
            {
                if (IsFull)
                {
                    return;
                }

                _text.Append(written++ == 0 ? "" : ", ");
                AppendKey(_text, entry.Key, _most);
                _text.Append(": ");
                Write(ViewValue.From(_objects, entry.Value, _most), ViewMember.ElementOf(field), depth + 1);
            }
        }

        Close(written, seen.Count, '}');
    }

    // If only a part of the values was written, an ellipsis shows that the text is incomplete.
    private void Close(int written, int count, char end) =>
        _text.Append(written < count ? ViewText.Ellipsis : "").Append(end);
}
