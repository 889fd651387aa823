using System.Collections.Specialized;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Creates an example of a message that the mapper accepts, or a message to fill in.</summary>
/// <param name="root">The type.</param>
/// <param name="isBlank">Whether to create a message to fill in, which is empty unless fields are
/// set.</param>
internal sealed class MessageTemplate(MessageLayout root, bool isBlank = false)
{
    // A type can contain thousands of others on many paths. Such a large template is not useful.
    private const int MaxMessages = 2000;
    private const int MaxMembers = 50_000;

    private readonly HashSet<MessageLayout> _path = [];
    private int _messages;
    private int _members;

    public object Make() => MessageOf(root) ?? DBNull.Value;

    /// <summary>The example; null where the type is already on the path.</summary>
    private object? MessageOf(MessageLayout layout) => layout.WellKnown switch
    {
        WellKnownType.Struct when isBlank => new BlankMessage(layout.Type, StringComparer.Ordinal).Seal(),
        WellKnownType.Any when isBlank =>
            new BlankMessage(layout.Type, StringComparer.OrdinalIgnoreCase).Seal(),
        not WellKnownType.None when isBlank => null,
        WellKnownType.Timestamp => DateTimeOffset.UnixEpoch,
        WellKnownType.Duration => TimeSpan.Zero,
        WellKnownType.Wrapper => ValueOf(layout.Fields[0]),
        WellKnownType.Struct => new OrderedDictionary(StringComparer.Ordinal),
        WellKnownType.Any => new OrderedDictionary(StringComparer.OrdinalIgnoreCase),
        WellKnownType.ListValue => Array.Empty<object>(),
        WellKnownType.Value or WellKnownType.FieldMask => "",
        _ => MembersOf(layout),
    };

    private OrderedDictionary? MembersOf(MessageLayout layout)
    {
        if (_messages >= MaxMessages || _members >= MaxMembers
            || _path.Count >= MessageLayout.MaxDepth / 2 || !_path.Add(layout))
        {
            return null;
        }
        _messages++;
        _members += layout.Shown.Length;
        BlankMessage? blank = isBlank ? new(layout.Type, layout.NameComparer) : null;
        OrderedDictionary members = blank ?? new OrderedDictionary(layout.NameComparer);
        HashSet<int> chosen = [];
        foreach (FieldLayout field in layout.Shown)
        {
            object? value = field.CaseSlot >= 0 && chosen.Contains(field.CaseSlot) ? null : FieldOf(field);
            if (field.CaseSlot >= 0 && value is not null && !isBlank)
            {
                chosen.Add(field.CaseSlot);
            }
            members.Add(field.Info.Name, value);
        }
        blank?.Seal();
        _path.Remove(layout);
        return members;
    }

    private object? FieldOf(FieldLayout field)
    {
        if (field.IsMap)
        {
            // Maps are empty, because an example entry would be sent with the template. Lists have one
            // element, to show its fields.
            return new OrderedDictionary(StringComparer.Ordinal);
        }
        if (isBlank && !field.IsMessage && (field.IsRepeated || field.HasPresence))
        {
            // A field with presence would be sent even with its default.
            return field.IsRepeated ? Array.Empty<object>() : null;
        }
        return field.IsRepeated
            ? ValueOf(field) is { } element ? new[] { element } : Array.Empty<object>()
            : ValueOf(field);
    }

    private object? ValueOf(FieldLayout field) => field.Kind switch
    {
        RpcFieldKind.Message or RpcFieldKind.Group => MessageOf(field.Message),
        RpcFieldKind.String => field.Info.DefaultValue as string ?? "",
        RpcFieldKind.Bytes => FieldValues.BytesDefault(field),
        RpcFieldKind.Enum => EnumOf(field),
        _ => field.Info.DefaultValue ?? ScalarValue.Box(field.Kind, 0),
    };

    private static object EnumOf(FieldLayout field)
    {
        RpcEnumInfo type = field.Enum!;
        int number = field.Info.DefaultValue as int? ?? type.Values[0].Value;
        return type.FindName(number) ?? (object)number;
    }
}
