using System.Collections;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Messages;

/// <summary>Finds required fields that are missing in messages of generated classes.</summary>
/// <remarks>Google.Protobuf's own check looks at every field of every message, and does not tell which one is
/// missing.</remarks>
internal sealed class GeneratedRequired
{
    private static readonly ConditionalWeakTable<MessageDescriptor, GeneratedRequired> Known = [];

    private readonly FieldDescriptor[] _required;
    private readonly FieldDescriptor[] _toRequired;
    private readonly bool _mayHaveExtensions;

    private GeneratedRequired(MessageDescriptor type)
    {
        _mayHaveExtensions = IsExtensible(type);
        _required = [.. type.Fields.InFieldNumberOrder().Where(field => field.IsRequired)];
        _toRequired = [.. type.Fields.InFieldNumberOrder()
            .Where(field => TypeIn(field) is { } held && Needs(held, []))];
    }

    /// <summary>The path of the first field that must be set and is not, or null.</summary>
    public static string? FindMissing(IMessage message) =>
        Of(message.Descriptor).Find(message, message.Descriptor.Name);

    private static GeneratedRequired Of(MessageDescriptor type) =>
        Known.GetValue(type, static key => new(key));

    // The messages that a field holds; null where it holds none.
    private static MessageDescriptor? TypeIn(FieldDescriptor field) =>
        field.FieldType is not (FieldType.Message or FieldType.Group) ? null
        : field.IsMap ? TypeIn(field.MessageType.FindFieldByNumber(2))
        : field.MessageType;

    private static bool Needs(MessageDescriptor type, HashSet<MessageDescriptor> seen) => seen.Add(type)
        && (IsExtensible(type) || type.Fields.InFieldNumberOrder().Any(
            field => field.IsRequired || (TypeIn(field) is { } held && Needs(held, seen))));

    private static bool IsExtensible(MessageDescriptor type) => type.ToProto().ExtensionRange.Count > 0;

    // The path so far is put together only for a message that lacks something.
    private string? Find(IMessage message, string path)
    {
        foreach (FieldDescriptor field in _required)
        {
            if (!field.Accessor.HasValue(message))
            {
                return $"{path}.{field.Name}";
            }
        }

        foreach (FieldDescriptor field in _toRequired)
        {
            GeneratedRequired type = Of(TypeIn(field)!);
            string? missing = field.Accessor.GetValue(message) switch
            {
                IDictionary map => type.FindIn(map),
                IList list => type.FindIn(list),
                IMessage child => type.Find(child, ""),
                _ => null,
            };
            if (missing is not null)
            {
                return $"{path}.{field.Name}{missing}";
            }
        }

        // Which are set, and where, only Google.Protobuf knows.
        return _mayHaveExtensions && !message.IsInitialized() ? $"{path}: a field of an extension" : null;
    }

    private string? FindIn(IList list)
    {
        for (int i = 0; i < list.Count; i++)
        {
            if (Find((IMessage)list[i]!, "") is { } missing)
            {
                return $"[{i}]{missing}";
            }
        }

        return null;
    }

    private string? FindIn(IDictionary map)
    {
        foreach (DictionaryEntry entry in map)
        {
            if (Find((IMessage)entry.Value!, "") is { } missing)
            {
                return $"[{entry.Key}]{missing}";
            }
        }

        return null;
    }
}
