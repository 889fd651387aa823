using System.Collections;

namespace ProtoRpc.Rendering;

/// <summary>Shows a message as a list with a label for each field. A nested message that does not fit on one
/// line has its own lines.</summary>
/// <remarks>The output is limited for any message: in lines, in elements of each list, in characters of each
/// text, and in depth.</remarks>
internal sealed class MessageList
{
    private const int MaxLines = 200;
    private const int MaxElements = 20;
    private const int MaxElementLines = 30;
    private const int MaxTextLines = 20;
    private const int MaxDepth = 8;
    private const int MaxLabel = 30;
    private const int MinRoom = 16;
    private const int MaxWidth = 4096;
    private const int Indent = 2;

    private readonly IObjectModel _objects;
    private readonly ViewStyle _style;
    private readonly int _room;
    private readonly List<string> _lines = [];

    private MessageList(IObjectModel objects, ViewStyle style, int room)
    {
        _objects = objects;
        _style = style;
        _room = room;
    }

    /// <summary>The lines of a message.</summary>
    /// <param name="objects">How objects are read.</param>
    /// <param name="message">The object of the message.</param>
    /// <param name="type">Its type, where that is known.</param>
    /// <param name="width">The cells of a line.</param>
    /// <param name="style">The colours.</param>
    public static IReadOnlyList<string> Format(
        IObjectModel objects, object message, RpcMessageInfo? type, int width, ViewStyle style)
    {
        width = Math.Min(width, MaxWidth);
        List<(string Label, ViewMember Member)> shown = [];
        List<string> absent = [];
        foreach (ViewMember member in ViewMember.GetMembers(objects, message, type))
        {
            string label = ViewText.ShortenName(member.Name, MaxLabel);
            ViewValue seen = ViewValue.From(objects, member.Value, 1);
            if (seen.Kind == ViewKind.Absent
                || (seen.Kind is ViewKind.List or ViewKind.Map && seen.Count == 0))
            {
                absent.Add(label);
            }
            else
            {
                shown.Add((label, member));
            }
        }

        int labels = shown.Count == 0 ? 0 : shown.Max(row => ViewText.Cells(row.Label));
        int room = Math.Max(MinRoom, width - labels - " : ".Length);
        List<string> lines = [];
        foreach ((string label, ViewMember member) in shown)
        {
            if (lines.Count > MaxLines)
            {
                lines.Add(style.InQuiet($"# {ViewText.Ellipsis}"));
                break;
            }

            MessageList values = new(objects, style, room);
            values.WriteField(member);
            string padding = new(' ', labels - ViewText.Cells(label));
            lines.Add($"{style.Label}{label}{padding} : {style.Reset}{values._lines.FirstOrDefault()}");
            lines.AddRange(
                values._lines.Skip(1).Take(MaxLines).Select(line => new string(' ', labels + 3) + line));
        }

        if (shown.Exists(row => row.Member.IsUnread))
        {
            lines.Add(style.InQuiet($"# {ViewMember.UnreadNote}"));
        }

        AddNotes(lines, type, shown.Count, absent, width, style);
        return lines;
    }

    private static void AddNotes(
        List<string> lines, RpcMessageInfo? type, int shown, List<string> absent, int width, ViewStyle style)
    {
        string? note = absent.Count > 0 ? $"# not set: {string.Join(", ", absent)}"
            : shown == 0 ? $"# an empty {type?.FullName ?? "message"}"
            : null;
        if (note is not null)
        {
            lines.Add(style.InQuiet(ViewText.Shorten(note, Math.Max(MinRoom, width))));
        }
    }

    private void WriteField(ViewMember member)
    {
        ViewValue seen = ViewValue.From(_objects, member.Value, MaxElements);
        if (seen is { Kind: ViewKind.Text, Value: string text })
        {
            WriteText(text);
            return;
        }

        string line = ViewLine.Format(_objects, member.Value, member.Field, _room, out bool fits);
        if (fits)
        {
            _lines.Add(line);
        }
        else if (seen.Kind == ViewKind.List)
        {
            WriteElements(seen, member.Field, 0, 0);
        }
        else if (seen.Kind == ViewKind.Map)
        {
            WriteEntries(seen, member.Field, 0, 0);
        }
        else
        {
            Write("", member.Value, member.Field, 0, 0);
        }
    }

    // Text is shown unchanged, and wrapped at the width of the window.
    private void WriteText(string text)
    {
        int most = MaxTextLines * _room;
        int end = Math.Min(text.Length, most);
        string start = end < text.Length ? text[..end] : text;
        string[] lines = start.ReplaceLineEndings("\n").Split('\n');
        foreach (string line in lines)
        {
            string neutral = ViewText.Neutral(line.Replace("\t", "    ", StringComparison.Ordinal), most);
            _lines.AddRange(neutral.Length == 0 ? [""] : ViewText.Wrap(neutral, _room));
        }

        if (end < text.Length || _lines.Count > MaxTextLines)
        {
            int kept = Math.Min(_lines.Count, MaxTextLines);
            _lines.RemoveRange(kept, _lines.Count - kept);
            _lines.Add(_style.InQuiet(string.Create(
                CultureInfo.InvariantCulture, $"# {ViewText.Ellipsis} {text.Length} characters in all")));
        }
    }

    private void Write(string head, object? value, RpcFieldInfo? field, int indent, int depth)
    {
        if (_lines.Count > MaxLines)
        {
            return;
        }

        int room = Math.Max(MinRoom, _room - indent - ViewText.Cells(head));
        ViewValue seen = ViewValue.From(_objects, value, MaxElements);
        string line = ViewLine.Format(_objects, value, field, room, out bool fits);
        string start = new string(' ', indent) + head;
        if (fits || depth > MaxDepth || seen.Kind is not (ViewKind.Message or ViewKind.List or ViewKind.Map))
        {
            _lines.Add(start + line);
            return;
        }

        _lines.Add(start + (seen.Kind == ViewKind.List ? '[' : '{'));
        switch (seen.Kind)
        {
            case ViewKind.Message:
                WriteMembers(seen.Value!, field?.MessageType, indent + Indent, depth + 1);
                break;
            case ViewKind.List:
                WriteElements(seen, field, indent + Indent, depth + 1);
                break;
            default:
                WriteEntries(seen, field, indent + Indent, depth + 1);
                break;
        }

        _lines.Add(new string(' ', indent) + (seen.Kind == ViewKind.List ? ']' : '}'));
    }

    private void WriteMembers(object message, RpcMessageInfo? type, int indent, int depth)
    {
        foreach (ViewMember member in ViewMember.GetMembers(_objects, message, type))
        {
            ViewValue seen = ViewValue.From(_objects, member.Value, MaxElements);
            if (!member.IsOmitted(seen))
            {
                string name = ViewText.ShortenName(member.Name, MaxLabel);
                string head = seen.Kind == ViewKind.Message ? $"{name} " : $"{name}: ";
                Write(head, member.Value, member.Field, indent, depth);
                if (member.IsUnread)
                {
                    _lines.Add(new string(' ', indent) + _style.InQuiet($"# {ViewMember.UnreadNote}"));
                }
            }
        }
    }

    private void WriteElements(ViewValue seen, RpcFieldInfo? field, int indent, int depth)
    {
        List<object?> items = [.. ((IEnumerable)seen.Value!).Cast<object?>().Take(MaxElements)];
        int written = 0;
        if (field?.MessageType is { } type && MessageTable.Fits(type, _room - indent)
            && items.TrueForAll(item => ViewValue.From(_objects, item, 1).Kind == ViewKind.Message))
        {
            WriteTable(
                [.. items.Select(item => ViewValue.From(_objects, item, MaxElements).Value!)], type, indent);
            written = items.Count;
        }
        else
        {
            int end = _lines.Count + MaxElementLines;
            foreach (object? item in items.TakeWhile(_ => _lines.Count < end))
            {
                Write("", item, field, indent, depth);
                written++;
            }
        }

        AddRest(written, seen.Count, indent);
    }

    private void WriteTable(List<object> messages, RpcMessageInfo type, int indent)
    {
        MessageTable table = new(_objects, messages, type, _room - indent, isWhole: true);
        string start = new(' ', indent);
        _lines.AddRange(table.Header(_style).Split('\n').Select(line => start + line));
        _lines.AddRange(messages.Select(message => start + table.Row(message)));
    }

    private void WriteEntries(ViewValue seen, RpcFieldInfo? field, int indent, int depth)
    {
        int written = 0;
        foreach (DictionaryEntry entry in ViewValue.EntriesOf((IDictionary)seen.Value!).Take(MaxElements))
        {
            string key = ViewLine.KeyOf(entry.Key, Math.Max(MaxLabel, _room - indent - MinRoom));
            Write($"{key}: ", entry.Value, ViewMember.ElementOf(field), indent, depth);
            written++;
        }

        AddRest(written, seen.Count, indent);
    }

    private void AddRest(int written, int count, int indent)
    {
        if (written < count)
        {
            string rest = string.Create(
                CultureInfo.InvariantCulture, $"# {ViewText.Ellipsis} {count - written} more");
            _lines.Add(new string(' ', indent) + _style.InQuiet(rest));
        }
    }
}
