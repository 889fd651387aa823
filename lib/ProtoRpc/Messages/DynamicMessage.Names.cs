using System.Runtime.CompilerServices;
using System.Text;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

// Access to fields by name.
public sealed partial class DynamicMessage
{
    // Comparing more names takes longer than finding the name in a dictionary.
    private const int MaxKnownNames = 12;

    // A host's texts may come from users and peers, so texts are never parsed as JSON lists.
    private static readonly MessageMapper Setting = new() { TakesRows = false };

    /// <summary>A field by its name or its JSON name, also case-insensitive, or an extension by
    /// <c>[full.name]</c>.</summary>
    /// <value>
    /// <para>Returns the value of <see cref="Get"/>: a boxed scalar, string, byte[], enum number (int),
    /// DynamicMessage, a list, or a dictionary for maps. An absent field is its default, an absent message is
    /// null.</para>
    /// <para>Accepts the values that <see cref="MessageMapper"/> accepts for the field: numbers and texts in
    /// range, names of enums, and dictionaries and objects for messages. Null removes the field. A value that
    /// does not fit leaves the message unchanged.</para>
    /// </value>
    /// <exception cref="RpcException">InvalidArgument: the message has no such field, with the nearest name;
    /// or the value does not fit, with its path.</exception>
    public object? this[string name]
    {
        get => ValueOf(FieldOf(name));
        set
        {
            FieldLayout field = FieldOf(name);
            if (value is null)
            {
                Clear(field);
                return;
            }

            if (TryStore(field, value))
            {
                return;
            }

            DynamicMessage holder = new ObjectReader(Setting, Type).ReadMembers(
                Layout, this, [new KeyValuePair<string, object?>(name, value)], 0);
            if (!holder.Has(field))
            {
                Clear(field);
            }
            else if (field.IsReference)
            {
                StoreReference(field, holder.References[field.Slot]);
            }
            else
            {
                StoreScalar(field, holder.Scalars[field.Slot]);
            }
        }
    }

    // Stores a value that needs no conversion by the mapper.
    private bool TryStore(FieldLayout field, object value)
    {
        if (value.GetType() != field.SingleType)
        {
            return field.Way == FieldWay.Messages && TryStoreMessages(field, value as List<DynamicMessage>);
        }
        switch (field.Kind)
        {
            // An empty text selects a oneof's member or removes the field; an unpaired surrogate is an error.
            case RpcFieldKind.String
                when Unsafe.As<string>(value) is { Length: > 0 } text && Ascii.IsValid(text):
            case RpcFieldKind.Bytes when Unsafe.As<byte[]>(value).Length > 0:
            case RpcFieldKind.Message or RpcFieldKind.Group
                when Unsafe.As<DynamicMessage>(value).Layout == field.Message:
                StoreReference(field, value);
                return true;
            case RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group:
            case RpcFieldKind.Enum when field.ClosedNumbers is not null:
            // There is more than one NaN.
            case RpcFieldKind.Double when double.IsNaN((double)value):
            case RpcFieldKind.Float when float.IsNaN((float)value):
                return false;
            default:
                ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
                StoreScalar(field, bits);
                return true;
        }
    }

    private bool TryStoreMessages(FieldLayout field, List<DynamicMessage>? messages)
    {
        foreach (DynamicMessage? message in messages ?? [null!])
        {
            if (message?.Layout != field.Message)
            {
                return false;
            }
        }
        StoreReference(field, messages!.Count == 0 ? null : new List<DynamicMessage>(messages));
        return true;
    }

    private FieldLayout FieldOf(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        FieldLayout[] fields = Layout.Fields;
        for (int i = 0; i < fields.Length && i < MaxKnownNames; i++)
        {
            if (ReferenceEquals(fields[i].KnownName, name))
            {
                return fields[i];
            }
        }
        FieldLayout found = Layout.Find(name) ?? throw MessageErrors.UnknownField(Type, name);
        found.KnownName ??= name;
        return found;
    }
}
