namespace ProtoRpc.Messages.Binary;

/// <summary>Counts what Google.Protobuf's parser would make of a message of a peer, before it runs.</summary>
/// <remarks>That parser cannot be stopped. It creates an object for every two bytes of some messages. It
/// hashes number keys of maps and numbers of unknown fields as themselves, so a peer can choose numbers that
/// collide. Each is then compared with all previous ones, which takes quadratic time.</remarks>
internal static class GeneratedLimits
{
    // The minimum size of a message in a list: a tag and a length.
    private const int MinMessageBytes = 2;

    // The minimum size of a map entry that has a key. Only the 15 unknown fields with a one-byte tag are
    // shorter.
    private const int MinEntryBytes = 3;

    // A message up to this size cannot exceed a limit, because its type would need thousands of fields.
    private const int AlwaysFine = 256;

    // What is in a message up to this size is at first taken from its length.
    private const int ShortMessage = 1024;

    /// <summary>Whether a message of this size can exceed a limit. Most messages are too short.</summary>
    public static bool MayExceed(RpcMessageInfo type, long bytes, int maxElements, int maxEntries) =>
        (bytes > AlwaysFine || maxEntries < AlwaysFine)
        && (bytes / MinEntryBytes > maxEntries
            || bytes / MinMessageBytes * MessageLayout.For(type).MostElements > maxElements);

    /// <summary>Rejects a message over a limit.</summary>
    /// <param name="type">The message's type.</param>
    /// <param name="bytes">The message.</param>
    /// <param name="maxElements">The maximum number of elements.</param>
    /// <param name="maxEntries">The maximum number of entries of a map with numbers as keys.</param>
    /// <param name="look">Called again and again; throws to end the count. Null for nothing.</param>
    /// <exception cref="RpcException">ResourceExhausted: the message is over a limit. InvalidArgument: the
    /// bytes are not a message.</exception>
    public static void Check(
        RpcMessageInfo type, ReadOnlySpan<byte> bytes, int maxElements, int maxEntries,
        Action? look = null)
    {
        if (!MayExceed(type, bytes.Length, maxElements, maxEntries))
        {
            return;
        }
        ElementBudget budget = new(type, maxElements, look);
        budget.AddBytes(bytes.Length);
        MessageLayout layout = MessageLayout.For(type);
        WireReader first = new(bytes, type, budget);
        Contents most = default;
        if (EstimateMost(ref first, layout, ref most) && most.Fit(budget.Left, maxEntries))
        {
            return;
        }
        HashWork work = new(type, maxEntries);
        WireReader reader = new(bytes, type, budget);
        long keys = 0;
        Count(ref reader, layout, 0, ref work, ref keys);
    }

    /// <summary>Adds the most that a message can contain, without a look into the short messages in it. For
    /// most messages that is within the limits, in a tenth of the time of a count.</summary>
    /// <returns>False if only a count can tell, because there are groups.</returns>
    private static bool EstimateMost(ref WireReader reader, MessageLayout layout, ref Contents most)
    {
        while (!reader.AtEnd)
        {
            uint tag = reader.ReadTag();
            FieldLayout? field = layout.Find((int)(tag >> WireType.TagBits));
            if (field is not { IsMessage: true, IsMessageSetItem: false } || tag != field.Tag)
            {
                most.Keys += field is null || (tag != field.Tag && tag != field.PackedTag) ? 1 : 0;
                reader.Skip(tag);
                continue;
            }
            if (field.Kind == RpcFieldKind.Group)
            {
                return false;
            }
            most.Keys += field.IsMap ? 1 : 0;
            most.Elements += field.IsMap ? 1 : field.Message.Elements;
            Contents ofElement = default;
            ref Contents inner = ref field.IsRepeated ? ref ofElement : ref most;
            int outerEnd = reader.EnterMessage();
            if (reader.Left > ShortMessage)
            {
                if (!EstimateMost(ref reader, field.Message, ref inner))
                {
                    return false;
                }
            }
            else
            {
                int messages = reader.Left / MinMessageBytes;
                inner.Keys += messages;
                inner.Elements += messages * (long)field.Message.MostElements;
                reader.SkipRest();
            }
            reader.LeaveMessage(outerEnd);
            most.Elements += ofElement.Elements;
            most.Comparisons += ofElement.AllComparisons;
        }
        return true;
    }

    /// <param name="reader">The reader of the bytes.</param>
    /// <param name="layout">The type of the message that is read.</param>
    /// <param name="endTag">The tag that ends a group; 0 where the length ends the message.</param>
    /// <param name="work">The work for all maps.</param>
    /// <param name="keys">The keys of this message. Messages that are no elements count with the message
    /// around them: a peer may send such a message in pieces.</param>
    private static void Count(
        ref WireReader reader, MessageLayout layout, uint endTag, ref HashWork work, ref long keys)
    {
        int lastUnknown = 0;
        while (!reader.AtEnd)
        {
            uint tag = reader.ReadTag();
            int number = (int)(tag >> WireType.TagBits);
            FieldLayout? field = layout.Find(number);
            if (field is { IsMessage: true, IsMessageSetItem: false } && tag == field.Tag)
            {
                CountMessage(ref reader, field, ref work, ref keys);
                continue;
            }
            if (tag == endTag)
            {
                return;
            }
            // Google.Protobuf stores consecutive unknown fields with the same number under one key.
            if (number != lastUnknown && (field is null || (tag != field.Tag && tag != field.PackedTag)))
            {
                lastUnknown = number;
                work.Add(ref keys);
            }
            reader.Skip(tag);
        }
        if (endTag != 0)
        {
            throw reader.Truncated("a group", reader.Position);
        }
    }

    private static void CountMessage(
        ref WireReader reader, FieldLayout field, ref HashWork work, ref long keys)
    {
        if (field.IsMap)
        {
            reader.CountEntry();
            if (IsHashedAsItself(field.Key.Kind))
            {
                work.Add(ref keys);
            }
        }
        else
        {
            reader.CountMessage(field.Message);
        }
        long ofElement = 0;
        ref long inner = ref field.IsRepeated ? ref ofElement : ref keys;
        if (field.Kind == RpcFieldKind.Group)
        {
            reader.EnterGroup();
            Count(ref reader, field.Message, field.EndTag, ref work, ref inner);
            reader.LeaveGroup();
            return;
        }
        int outerEnd = reader.EnterMessage();
        Count(ref reader, field.Message, 0, ref work, ref inner);
        reader.LeaveMessage(outerEnd);
    }

    /// <summary>Whether .NET hashes keys of a kind without a secret.</summary>
    public static bool IsHashedAsItself(RpcFieldKind kind) =>
        kind is not (RpcFieldKind.String or RpcFieldKind.Bool);

    // What a message contains: its own keys, and elements and comparisons with those of all messages in it.
    private struct Contents
    {
        public long Elements;
        public long Keys;
        public long Comparisons;

        public readonly long AllComparisons => Comparisons + (Keys * Keys);

        public readonly bool Fit(long maxElements, long maxKeys) =>
            Elements <= maxElements && AllComparisons <= maxKeys * maxKeys;
    }
}

/// <summary>Counts the comparisons that the keys of maps cost if all of them collide.</summary>
/// <param name="type">The type that is read, for the error.</param>
/// <param name="limit">The entries that a single map may have.</param>
internal struct HashWork(RpcMessageInfo type, int limit)
{
    private readonly long _limit = (long)limit * limit;
    private long _taken;

    /// <summary>Adds a key to those of a map.</summary>
    /// <param name="keys">How many the map has; one more afterwards.</param>
    /// <exception cref="RpcException">ResourceExhausted: too many.</exception>
    public void Add(ref long keys)
    {
        // k keys cost k * k comparisons, so this key costs (k + 1)² - k² of them.
        _taken += (2 * keys++) + 1;
        if (_taken > _limit)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted, RpcErrorIds.TooManyElements,
                $"The message {type.FullName} is rejected: in a generated class, a map with numbers as keys "
                + $"has at most {limit:N0} entries, and a message at most as many unknown fields. Several "
                + "maps together have fewer. Raise RpcLimits.MaxGeneratedMapEntries on this side, or read "
                + "the message as a DynamicMessage, which has no such limit.");
        }
    }
}
