using System.Collections;
using System.Text.Unicode;
using ProtoRpc.Messages;

namespace ProtoRpc.Rendering;

/// <summary>The kind of a shown value.</summary>
internal enum ViewKind
{
    Absent,
    Text,
    Scalar,
    Bytes,
    Message,
    List,
    Map,
}

/// <summary>A value for views. Lists and maps are only read as far as they are shown, and deferred values are
/// not stored.</summary>
/// <param name="Kind">The kind.</param>
/// <param name="Value">Text, bytes, the text of a scalar, a message, or the elements.</param>
/// <param name="Count">The number of elements; -1 if it is unknown.</param>
internal readonly record struct ViewValue(ViewKind Kind, object? Value, int Count)
{
    private const int BytesShown = 8;
    private const int TextShown = 40;
    // Bytes that do not occur in text: all control characters except tabs and line ends.
    private static readonly SearchValues<byte> Controls = SearchValues.Create(
        [.. Enumerable.Range(0, ' ').Append(0x7F).Select(c => (byte)c).Except("\t\r\n"u8.ToArray())]);

    private const string TimeFormat = "yyyy-MM-dd HH:mm:ss.fffffff";

    public static ViewValue From(IObjectModel objects, object? value, int most)
    {
        int count = -1;
        value = objects.Unwrap(value is DeferredValue deferred ? deferred.Peek(most, out count) : value);
        return value switch
        {
            null or DBNull => new(ViewKind.Absent, null, 0),
            string text => new(ViewKind.Text, text, text.Length),
            byte[] bytes => new(ViewKind.Bytes, bytes, bytes.Length),
            _ when objects.IsMessage(value) => new(ViewKind.Message, value, 0),
            IDictionary map => new(ViewKind.Map, map, count < 0 ? map.Count : count),
            ICollection list => new(ViewKind.List, list, count < 0 ? list.Count : count),
            IEnumerable list => new(ViewKind.List, list, -1),
            _ => new(ViewKind.Scalar, TextOf(value), 0),
        };
    }

    /// <summary>Whether it is the default of a field without presence.</summary>
    public bool IsDefault => Kind switch
    {
        ViewKind.Absent => true,
        ViewKind.Text or ViewKind.Bytes or ViewKind.List or ViewKind.Map => Count == 0,
        ViewKind.Scalar => Value is "0" or "false",
        _ => false,
    };

    /// <summary>The number of bytes and the first of them; as text if they are printable UTF-8.</summary>
    public string BytesText
    {
        get
        {
            byte[] bytes = (byte[])Value!;
            string number = string.Create(
                CultureInfo.InvariantCulture, $"{bytes.Length} byte{(bytes.Length == 1 ? "" : "s")}");
            return bytes.Length == 0 ? number : $"{number}: {PrintableText(bytes) ?? Numbers(bytes)}";
        }
    }

    private static string Numbers(byte[] bytes)
    {
        string first = string.Join(' ', bytes.Take(BytesShown).Select(b => b.ToString("X2", null)));
        return bytes.Length > BytesShown ? $"{first} {ViewText.Ellipsis}" : first;
    }

    // Bytes with line ends can be text as well. In a long text, only the shown part is searched for invisible
    // characters.
    private static string? PrintableText(byte[] bytes)
    {
        if (bytes.AsSpan().ContainsAny(Controls) || !Utf8.IsValid(bytes))
        {
            return null;
        }

        int length = Math.Min(bytes.Length, TextShown);
        while (length < bytes.Length && (bytes[length] & 0xC0) == 0x80)
        {
            length--;
        }

        string text = Encoding.UTF8.GetString(bytes, 0, length);
        StringBuilder shown = new("\"");
        ViewText.Append(shown, text, int.MaxValue / 2, quoted: true);
        return ViewText.HasHidden(text) ? null
            : shown.Append('"').Append(length < bytes.Length ? $" {ViewText.Ellipsis}" : "").ToString();
    }

    /// <summary>The entries of a map. Needed because a generic map enumerates pairs of its own key and value
    /// types.</summary>
    public static IEnumerable<DictionaryEntry> EntriesOf(IDictionary map)
    {
        foreach (DictionaryEntry entry in map)
        {
            yield return entry;
        }
    }

    private static string TextOf(object value) => value switch
    {
        bool flag => flag ? "true" : "false",

        // Shown in the local time zone of the reader.
        DateTimeOffset time => WithoutZeros(
            time.ToLocalTime().ToString(TimeFormat, CultureInfo.InvariantCulture)),
        DateTime time => WithoutZeros(time.ToString(TimeFormat, CultureInfo.InvariantCulture)),
        TimeSpan span => WithoutZeros(span.ToString("c", CultureInfo.InvariantCulture)),
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };

    // Both have seven decimal places, or no decimal point after the seconds, as in 1.00:00:00.
    private static string WithoutZeros(string text) =>
        text.LastIndexOf('.') > text.LastIndexOf(':') ? text.TrimEnd('0').TrimEnd('.') : text;
}

/// <summary>A member of a message as views see it.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Value">The value in the object.</param>
/// <param name="Field">The field, if it is known.</param>
/// <param name="IsUnread">Whether it contains the bytes of an Any whose type the schema lacks.</param>
internal readonly record struct ViewMember(
    string Name, object? Value, RpcFieldInfo? Field, bool IsUnread = false)
{
    /// <summary>Why an Any is shown by its bytes.</summary>
    public const string UnreadNote = "the schema has no such type";

    /// <summary>The member of an object that names its type.</summary>
    public const string TypeKey = "@type";

    /// <summary>The members of a message's object, with the fields of its type.</summary>
    public static IEnumerable<ViewMember> GetMembers(
        IObjectModel objects, object message, RpcMessageInfo? type)
    {
        if (!objects.TryGetMembers(message, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            yield break;
        }

        bool isUnread = false;
        foreach ((string name, object? value) in members)
        {
            if (name == TypeKey && type is not null && value is string url)
            {
                // An Any is shown as its content.
                type = type.Schema.FindInAny(url[(url.LastIndexOf('/') + 1)..]);
                isUnread = type is null;
            }

            yield return new(name, value, type?.FindField(name), isUnread && value is byte[]);
        }
    }

    /// <summary>Whether a short form omits it, because it is absent or has its default.</summary>
    public bool IsOmitted(ViewValue seen) => seen.Kind == ViewKind.Absent
        || (seen.Kind is ViewKind.List or ViewKind.Map && seen.Count == 0)
        || (Field is { HasPresence: false } && (seen.IsDefault || IsFirstOfEnum(seen)));

    /// <summary>The field that the values of a map are of, or that the elements of a list are.</summary>
    public static RpcFieldInfo? ElementOf(RpcFieldInfo? field) =>
        field is { IsMap: true } ? field.MessageType!.Fields[1] : field;

    private bool IsFirstOfEnum(ViewValue seen) => seen.Kind == ViewKind.Text
        && Field?.EnumType is { } type && type.FindName(0) is { } zero && (string)seen.Value! == zero;
}
