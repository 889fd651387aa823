using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>Merges one message into another as protobuf does, without sharing anything with it.</summary>
internal static class MessageMerger
{
    public static void Merge(DynamicMessage target, DynamicMessage source)
    {
        if (target.Layout != source.Layout)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{source.Type.FullName} cannot be merged into {target.Type.FullName}: both must be of " +
                "the same type of the same schema.");
        }
        RuntimeHelpers.EnsureSufficientExecutionStack();
        foreach (FieldLayout field in source.Layout.Fields)
        {
            if (!source.Has(field))
            {
                continue;
            }
            if (field.IsReference)
            {
                MergeReference(target, field, source.References[field.Slot]!);
            }
            else
            {
                target.StoreScalar(field, source.Scalars[field.Slot]);
            }
        }
        target.AppendUnknown(source.UnknownFieldBytes.ToArray());
    }

    private static void MergeReference(DynamicMessage target, FieldLayout field, object value)
    {
        switch (value)
        {
            case DynamicMessage message:
                DynamicMessage child = target.References[field.Slot] as DynamicMessage ?? new(field.Message);
                target.StoreReference(field, child);
                Merge(child, message);
                break;
            case OrderedDictionary<object, object> map:
                OrderedDictionary<object, object> targetMap = target.MapOf(field);
                foreach ((object key, object item) in map.ToArray())
                {
                    targetMap[key] = CopyOf(item);
                }
                break;
            case List<DynamicMessage> list:
                target.ListOf<DynamicMessage>(field).AddRange(list.Select(item => item.Clone()).ToArray());
                break;
            case List<byte[]> list:
                target.ListOf<byte[]>(field).AddRange(list.Select(item => (byte[])item.Clone()).ToArray());
                break;
            case List<string> list:
                target.ListOf<string>(field).AddRange(list.ToArray());
                break;
            case List<int> list:
                target.ListOf<int>(field).AddRange(list.ToArray());
                break;
            case List<uint> list:
                target.ListOf<uint>(field).AddRange(list.ToArray());
                break;
            case List<long> list:
                target.ListOf<long>(field).AddRange(list.ToArray());
                break;
            case List<ulong> list:
                target.ListOf<ulong>(field).AddRange(list.ToArray());
                break;
            case List<bool> list:
                target.ListOf<bool>(field).AddRange(list.ToArray());
                break;
            case List<float> list:
                target.ListOf<float>(field).AddRange(list.ToArray());
                break;
            case List<double> list:
                target.ListOf<double>(field).AddRange(list.ToArray());
                break;
            default:
                target.StoreReference(field, CopyOf(value));
                break;
        }
    }

    private static object CopyOf(object value) => value switch
    {
        DynamicMessage message => message.Clone(),
        byte[] bytes => bytes.Clone(),
        _ => value,
    };
}
