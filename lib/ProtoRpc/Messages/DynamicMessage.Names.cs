using System.Text;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

// Fields by their names.
public sealed partial class DynamicMessage
{
    // Texts that hosts set come from users and peers: none of them is read as a list in JSON.
    private static readonly MessageMapper Setting = new() { TakesRows = false };

    /// <summary>A field by its name, its JSON name, either without regard to case, or an extension by
    /// <c>[full.name]</c>.</summary>
    /// <value>
    /// <para>Reads as <see cref="Get"/>: a boxed scalar, string, byte[], enum number (int), DynamicMessage, a
    /// list, or a dictionary for maps; the default where the field is absent, null for an absent
    /// message.</para>
    /// <para>Takes what <see cref="MessageMapper"/> takes for the field: numbers and texts that fit, names of
    /// enums, dictionaries and objects for messages, nested at will. Null removes the field. A value that
    /// does not fit leaves the message as it was.</para>
    /// </value>
    /// <exception cref="RpcException">InvalidArgument: the message has no such field, with the nearest name;
    /// or the value does not fit, with its path.</exception>
    public object? this[string name]
    {
        get => Get(FieldOf(name));
        set
        {
            RpcFieldInfo info = FieldOf(name);
            if (value is null)
            {
                Clear(info);
                return;
            }

            FieldLayout field = LayoutOf(info);
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

    // Stores a value that is what the mapper would make of it.
    private bool TryStore(FieldLayout field, object value)
    {
        if (field.IsRepeated)
        {
            return false;
        }
        bool isReference = value switch
        {
            // The empty one is the choice of a oneof, or none; half a surrogate pair is an error.
            string { Length: > 0 } text => field.Kind == RpcFieldKind.String && Ascii.IsValid(text),
            byte[] { Length: > 0 } => field.Kind == RpcFieldKind.Bytes,
            DynamicMessage message => field.IsMessage && message.Layout == field.Message,
            _ => false,
        };
        if (isReference)
        {
            StoreReference(field, value);
            return true;
        }
        // There is more than one NaN.
        if (field.IsReference || field.ClosedNumbers is not null || value is double.NaN or float.NaN
            || !ScalarValue.TryUnbox(field.Kind, value, out ulong bits))
        {
            return false;
        }
        StoreScalar(field, bits);
        return true;
    }

    private RpcFieldInfo FieldOf(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return Type.FindField(name) ?? throw MessageErrors.UnknownField(Type, name);
    }
}
