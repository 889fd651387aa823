using System.Collections;

namespace ProtoRpc.Messages;

/// <summary>Finds fields of a message that were sent with another type than the schema declares: they are
/// unknown fields, and the declared ones look empty.</summary>
internal static class ReplyMismatch
{
    // Only the start of a large reply is checked, because all messages have the same schema.
    private const int MostMessages = 200;
    private const int MostFields = 100;

    /// <summary>The first field with another type than in the schema; null for none.</summary>
    public static RpcFieldInfo? Find(DynamicMessage message)
    {
        Queue<DynamicMessage> waiting = new([message]);
        for (int i = 0; i < MostMessages && waiting.TryDequeue(out DynamicMessage? next); i++)
        {
            if (FindHere(next) is { } field)
            {
                return field;
            }

            foreach (RpcFieldInfo inner in next.Type.Fields)
            {
                if (inner.MessageType is not null && next.Has(inner))
                {
                    AddAll(waiting, next.Get(inner));
                }
            }
        }

        return null;
    }

    private static void AddAll(Queue<DynamicMessage> waiting, object? value)
    {
        IEnumerable messages = value switch
        {
            DynamicMessage single => new[] { single },
            IDictionary map => map.Values,
            IEnumerable list => list,
            _ => Array.Empty<object>(),
        };
        foreach (object? one in messages)
        {
            if (waiting.Count >= MostMessages || one is not DynamicMessage message)
            {
                return;
            }

            waiting.Enqueue(message);
        }
    }

    private static RpcFieldInfo? FindHere(DynamicMessage message)
    {
        if (message.UnknownFieldBytes.IsEmpty)
        {
            return null;
        }

        using CodedInputStream input = new(message.UnknownFieldBytes.ToArray());
        try
        {
            for (int i = 0; i < MostFields && input.ReadTag() is not 0 and uint tag; i++)
            {
                // A number that a closed enum does not declare is also an unknown field, but no mismatch.
                if (message.Type.FindField(
                    WireFormat.GetTagFieldNumber(tag)) is { Kind: not RpcFieldKind.Enum } field)
                {
                    return field;
                }

                input.SkipLastField();
            }
        }
        catch (InvalidProtocolBufferException)
        {
            // CodedInputStream rejects the nesting depth, which the decoder accepted.
        }

        return null;
    }
}
