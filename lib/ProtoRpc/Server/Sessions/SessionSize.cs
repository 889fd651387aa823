using System.Collections;
using Google.Protobuf;

namespace ProtoRpc.Server.Sessions;

/// <summary>About how many bytes a value takes that a handler keeps in a session.</summary>
internal static class SessionSize
{
    // An object with a few fields; what it refers to cannot be seen from outside.
    private const int OfObject = 64;
    private const int MaxDepth = 32;

    /// <summary>Counts texts, arrays, messages, and collections of these; other objects count as
    /// 64 bytes.</summary>
    /// <param name="value">The value.</param>
    /// <param name="max">Above this, counting ends.</param>
    public static long Of(object? value, long max) => Of(value, max, depth: 0);

    private static long Of(object? value, long max, int depth) => value switch
    {
        null => 0,
        string text => OfObject + ((long)text.Length * sizeof(char)),
        byte[] bytes => OfObject + bytes.LongLength,
        IMessage message => OfObject + message.CalculateSize(),
        Array { Rank: 1 } array when array.GetType().GetElementType()!.IsPrimitive =>
            OfObject + Buffer.ByteLength(array),
        IDictionary pairs when depth < MaxDepth => OfPairs(pairs, max, depth),
        ICollection items when depth < MaxDepth => OfItems(items, max, depth),
        _ => OfObject,
    };

    private static long OfPairs(IDictionary pairs, long max, int depth)
    {
        long size = OfObject;
        foreach (DictionaryEntry pair in pairs)
        {
            size += Of(pair.Key, max, depth + 1) + Of(pair.Value, max, depth + 1);
            if (size > max)
            {
                break;
            }
        }

        return size;
    }

    private static long OfItems(ICollection items, long max, int depth)
    {
        long size = OfObject;
        foreach (object? item in items)
        {
            size += IntPtr.Size + Of(item, max, depth + 1);
            if (size > max)
            {
                break;
            }
        }

        return size;
    }
}
