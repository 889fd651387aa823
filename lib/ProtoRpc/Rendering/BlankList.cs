using System.Collections;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Rendering;

/// <summary>Shows a message to fill in as a tree: a line for each field, with its value and its
/// type.</summary>
internal sealed class BlankList
{
    private const int MaxLines = 200;
    private const int MaxDepth = 8;
    private const int MaxLabel = 40;
    private const int MaxNames = 20;
    private const int Indent = 2;

    private readonly IObjectModel _objects;
    private readonly int _width;
    private readonly List<(string Label, string Value, string Note)> _rows = [];
    private int _left;

    private BlankList(IObjectModel objects, int width)
    {
        _objects = objects;
        _width = width;
    }

    /// <summary>The lines of a message.</summary>
    /// <param name="objects">How objects are read.</param>
    /// <param name="message">The message.</param>
    /// <param name="width">The cells of a line.</param>
    /// <param name="style">The colours.</param>
    public static IReadOnlyList<string> Format(
        IObjectModel objects, BlankMessage message, int width, ViewStyle style)
    {
        BlankList list = new(objects, width);
        list.AddFields(message, 0);
        int labels = list._rows.Select(row => ViewText.Cells(row.Label)).DefaultIfEmpty().Max();
        List<string> lines = [];
        foreach ((string label, string value, string note) in list._rows)
        {
            int room = Math.Max(1, width - labels - " : ".Length);
            string shown = ViewText.Shorten(value, room);
            int left = room - ViewText.Cells(shown) - 1;
            string comment = left > 3 ? style.InQuiet(ViewText.Shorten($"# {note}", left)) : "";
            string gap = shown.Length > 0 && comment.Length > 0 ? " " : "";
            string padding = new(' ', labels - ViewText.Cells(label));
            lines.Add($"{style.Label}{label}{padding} : {style.Reset}{shown}{gap}{comment}");
        }

        if (list._left > 0)
        {
            lines.Add(style.InQuiet(string.Create(
                CultureInfo.InvariantCulture, $"# {ViewText.Ellipsis} {list._left} more")));
        }

        return lines.Count > 0
            ? lines
            : [style.InQuiet($"# an empty {message.MessageType?.FullName ?? "message"}")];
    }

    private void AddFields(BlankMessage message, int depth)
    {
        foreach (DictionaryEntry entry in message)
        {
            string name = (string)entry.Key;
            RpcFieldInfo? field = message.MessageType?.FindField(name);
            string note = field is null ? "" : NoteOf(field);
            object? value = _objects.Unwrap(entry.Value);
            if (value is IList list
                && list.Cast<object?>().Any(item => _objects.Unwrap(item) is BlankMessage))
            {
                for (int i = 0; i < list.Count; i++)
                {
                    string element = string.Create(CultureInfo.InvariantCulture, $"{name}[{i}]");
                    Add(element, list[i], field, note, depth);
                }
            }
            else
            {
                Add(name, value, field, note, depth);
            }
        }
    }

    private void Add(string name, object? value, RpcFieldInfo? field, string note, int depth)
    {
        if (_rows.Count >= MaxLines)
        {
            _left++;
            return;
        }

        string label = ViewText.ShortenName(name, MaxLabel);
        value = _objects.Unwrap(value);
        bool isOpen = value is BlankMessage { Count: > 0 } && depth < MaxDepth;
        string text = isOpen ? "" : ViewLine.Format(_objects, value, field, _width, out _);
        _rows.Add((new string(' ', depth * Indent) + label, text, note));
        if (isOpen)
        {
            AddFields((BlankMessage)value!, depth + 1);
        }
    }

    private static string NoteOf(RpcFieldInfo field) =>
        (field.IsRequired ? "required " : field.IsRepeated && !field.IsMap ? "list of " : "") + field.TypeName
        + (field.EnumType is { } type
            ? $": {string.Join(", ", type.Values.Take(MaxNames).Select(value => value.Key))}" : "")
        + (field.Oneof is { } oneof
            ? $"; one of {string.Join(", ", oneof.Fields.Take(MaxNames).Select(other => other.Name))}" : "");
}
