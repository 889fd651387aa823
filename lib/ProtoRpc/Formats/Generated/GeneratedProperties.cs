using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>What a reader needs of a generated class, or of an entry of a map of one, which has no
/// class.</summary>
/// <remarks>Found when a message of the class is first read; safe for many threads.</remarks>
internal sealed class GeneratedProperties
{
    private readonly GeneratedField?[] _fields;
    private readonly GeneratedType?[] _held;
    private readonly OneofDescriptor?[] _oneofs;

    /// <param name="type">The class.</param>
    /// <param name="fields">Its fields by their index; null of an entry.</param>
    public GeneratedProperties(GeneratedType type, GeneratedField?[]? fields)
    {
        Layout = type.Layout;
        FieldDescriptor?[] known = Array.ConvertAll(
            Layout.Fields, field => type.Descriptor.FindFieldByNumber(field.Info.Number));
        _held = Array.ConvertAll(Layout.Fields, field => HeldBy(field, known[field.Index]));
        _oneofs = Array.ConvertAll(
            known, field => field is { IsExtension: false } ? field.RealContainingOneof : null);
        _fields = Array.ConvertAll(
            Layout.Fields, field => CanFill(field, known[field.Index]) ? fields?[field.Index] : null);
        AreAll = Array.TrueForAll(_fields, field => field is not null);
    }

    public MessageLayout Layout { get; }

    /// <summary>Whether all fields have a property.</summary>
    public bool AreAll { get; }

    /// <summary>How a field is set; null where the class has no property for it.</summary>
    public GeneratedField? Of(FieldLayout field) => _fields[field.Index];

    /// <summary>The class of the messages that a field holds; of a map, how its entries are read. Null where
    /// they are dynamic.</summary>
    public GeneratedType? Held(FieldLayout field) => _held[field.Index];

    /// <summary>The member of a field's oneof that is set.</summary>
    public FieldLayout? ChosenOf(IMessage message, FieldLayout field) =>
        _oneofs[field.Index]?.Accessor.GetCaseFieldDescriptor(message) is { } chosen
            ? Layout.Find(chosen.FieldNumber)
            : null;

    private static GeneratedType? HeldBy(FieldLayout field, FieldDescriptor? known)
    {
        if (!field.IsMessage || known is not { IsExtension: false }
            || known.FieldType is not (FieldType.Message or FieldType.Group)
            || field.IsMap != known.IsMap || GeneratedFields.IsWrapped(known))
        {
            return null;
        }
        GeneratedType held = GeneratedType.At(field.Message, known.MessageType);
        return ReferenceEquals(held.Descriptor, known.MessageType) && (field.IsMap || held.CanMake)
            ? held
            : null;
    }

    // A property only accepts messages of its own class. Messages of other classes are read as dynamic
    // messages.
    private bool CanFill(FieldLayout field, FieldDescriptor? known)
    {
        if (known is null || !field.IsMessage)
        {
            return true;
        }
        if (!field.IsMap)
        {
            return GeneratedFields.IsWrapped(known) || _held[field.Index] is not null;
        }
        return !field.Value.IsMessage || (_held[field.Index] is { } entry
            && (entry.Properties.Held(field.Value) is not null
                || GeneratedFields.IsWrapped(known.MessageType.FindFieldByNumber(2))));
    }
}
