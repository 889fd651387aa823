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

    private RpcFieldInfo FieldOf(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return Type.FindField(name) ?? throw MessageErrors.UnknownField(Type, name);
    }
}
