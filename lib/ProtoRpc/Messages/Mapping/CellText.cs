using System.Collections.Specialized;
using System.Diagnostics.CodeAnalysis;
using System.Text.Json;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Converts the text of a table cell for a field that is not text: an empty text is absent, and
/// lists, maps and messages are JSON.</summary>
internal static class CellText
{
    // Each level is an object and possibly a list around it.
    private static readonly JsonDocumentOptions Reading =
        new() { MaxDepth = (2 * MessageLayout.MaxDepth) + 2 };

    /// <summary>Whether an empty text means that a field is absent.</summary>
    public static bool IsAbsent(FieldLayout field, object value) =>
        value is string { Length: 0 } && (field.IsRepeated || !IsText(field));

    /// <summary>Whether an empty text is a value of a field.</summary>
    public static bool IsText(FieldLayout field) => field.Kind switch
    {
        RpcFieldKind.String => true,
        RpcFieldKind.Message => field.Message.WellKnown switch
        {
            WellKnownType.Value => true,
            WellKnownType.Wrapper => field.Message.Fields[0].Kind == RpcFieldKind.String,
            _ => false,
        },
        _ => false,
    };

    /// <summary>The number that a culture writes, in the invariant culture. Only signs and the decimal
    /// separator differ: Export-Csv does not group digits, and other text would be ambiguous.</summary>
    public static bool TryReadNumber(
        string text, CultureInfo? culture, [NotNullWhen(true)] out string? number)
    {
        NumberFormatInfo? format = culture?.NumberFormat;
        number = format is null ? null : text
            .Replace(format.NegativeSign, "-", StringComparison.Ordinal)
            .Replace(format.NumberDecimalSeparator, ".", StringComparison.Ordinal);
        return number is not null && number != text;
    }

    /// <summary>The list of a repeated field that is JSON text.</summary>
    /// <remarks>Text in brackets is one element of a list of texts, unless all in it are texts.</remarks>
    public static bool TryReadList(FieldLayout field, object value, [NotNullWhen(true)] out object[]? list)
    {
        list = TryParse(value, '[', out object? parsed) ? (object[])parsed : null;
        if (list is not null && IsText(field) && Array.Exists(list, item => item is not string))
        {
            list = null;
        }
        return list is not null;
    }

    /// <summary>The entries of a map, or the members of a message, that are JSON text.</summary>
    public static bool TryReadObject(object value, [NotNullWhen(true)] out object? members) =>
        TryParse(value, '{', out members);

    /// <summary>Parses a text with the JSON of a message's members or elements; returns all other values
    /// unchanged.</summary>
    public static object? Unpack(MessageLayout layout, object? value)
    {
        char opening = layout.WellKnown switch
        {
            WellKnownType.None or WellKnownType.Any or WellKnownType.Struct => '{',
            WellKnownType.ListValue => '[',
            _ => '\0',
        };
        return opening != '\0' && value is not null && TryParse(value, opening, out object? parsed)
            ? parsed
            : value;
    }

    private static bool TryParse(object value, char opening, [NotNullWhen(true)] out object? parsed)
    {
        parsed = null;
        if (value is not string text || !text.AsSpan().TrimStart().StartsWith([opening]))
        {
            return false;
        }
        try
        {
            using JsonDocument document = JsonDocument.Parse(text, Reading);
            parsed = ObjectOf(document.RootElement);
        }
        catch (JsonException)
        {
            // The text is not JSON. The reader of the field reports what it accepts.
        }
        return parsed is not null;
    }

    private static object? ObjectOf(JsonElement element)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                OrderedDictionary members = new(StringComparer.Ordinal);
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    // As in other JSON readers, the last of several members with the same name wins.
                    members[member.Name] = ObjectOf(member.Value);
                }
                return members;
            case JsonValueKind.Array:
                return element.EnumerateArray().Select(ObjectOf).ToArray();
            case JsonValueKind.String:
                return element.GetString();
            case JsonValueKind.Number:
                return element.TryGetInt64(out long whole) ? (object)whole
                    : element.TryGetUInt64(out ulong large) ? (object)large
                    : element.GetDouble();
            case JsonValueKind.Null:
                return null;
            default:
                return element.GetBoolean();
        }
    }
}

/// <summary>Members whose names are paths, <c>location.site</c>, gathered by the field at the start of the
/// path.</summary>
internal sealed class DottedMembers
{
    private readonly List<Group> _groups = [];

    public IReadOnlyList<Group> Groups => _groups;

    /// <summary>The field at the start of a path, and the rest of the path; null for another name.</summary>
    public static (FieldLayout Field, string Path)? Split(MessageLayout layout, string name)
    {
        // The name of an extension contains dots: [package.name].
        int start = name.StartsWith('[') ? Math.Max(name.IndexOf(']'), 0) : 0;
        int dot = name.IndexOf('.', start);
        if (dot <= 0 || dot == name.Length - 1 || layout.Find(name[..dot]) is not { } field)
        {
            return null;
        }
        bool hasMembers = field.IsMap || (field.IsMessage && !field.IsRepeated);
        return hasMembers ? (field, name[(dot + 1)..]) : null;
    }

    /// <returns>False where the rest of the path is there already.</returns>
    public bool TryAdd(FieldLayout field, string rest, object? value)
    {
        Group? group = _groups.Find(known => known.Field == field);
        if (group is null)
        {
            group = new(field);
            _groups.Add(group);
        }
        return group.TryAdd(rest, value);
    }

    /// <summary>A part of a row.</summary>
    public sealed class Row() : OrderedDictionary(StringComparer.Ordinal);

    /// <summary>The members of one field.</summary>
    public sealed class Group(FieldLayout field)
    {
        public FieldLayout Field { get; } = field;

        /// <summary>The members, by the rest of their paths.</summary>
        public Row Members { get; } = new();

        /// <summary>Whether all members are empty, as the cells of an absent message are.</summary>
        public bool IsEmpty { get; private set; } = true;

        public bool TryAdd(string rest, object? value)
        {
            if (Members.Contains(rest))
            {
                return false;
            }
            bool isEmpty = value is null or "";
            IsEmpty &= isEmpty;
            // An empty cell is no entry of a map, unless its values are text.
            if (!Field.IsMap || !isEmpty || (value is not null && CellText.IsText(Field.Value)))
            {
                Members.Add(rest, value);
            }
            return true;
        }
    }
}
