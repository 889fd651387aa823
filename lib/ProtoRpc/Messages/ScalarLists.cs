namespace ProtoRpc.Messages;

/// <summary>Adds to the typed lists of repeated scalars.</summary>
internal static class ScalarLists
{
    /// <summary>Adds a scalar, given as <see cref="ScalarValue"/> keeps it.</summary>
    public static void Add(DynamicMessage message, FieldLayout field, ulong bits)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64:
                message.ListOf<long>(field).Add((long)bits);
                break;
            case RpcFieldKind.UInt64 or RpcFieldKind.Fixed64:
                message.ListOf<ulong>(field).Add(bits);
                break;
            case RpcFieldKind.UInt32 or RpcFieldKind.Fixed32:
                message.ListOf<uint>(field).Add((uint)bits);
                break;
            case RpcFieldKind.Bool:
                message.ListOf<bool>(field).Add(bits != 0);
                break;
            case RpcFieldKind.Float:
                message.ListOf<float>(field).Add(ScalarValue.ToSingle(bits));
                break;
            case RpcFieldKind.Double:
                message.ListOf<double>(field).Add(ScalarValue.ToDouble(bits));
                break;
            default:
                message.ListOf<int>(field).Add((int)bits);
                break;
        }
    }
}
