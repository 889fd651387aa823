using ProtoRpc.Messages;

namespace ProtoRpc;

/// <summary>The options of random messages.</summary>
public sealed record RpcRandomMessageOptions
{
    /// <summary>The number of different requests.</summary>
    internal const int Requests = 100;

    private const int MaxStreamLength = 100_000;

    /// <summary>The seed; the same seed creates the same messages of a type. The default is 0.</summary>
    public int Seed { get; init; }

    /// <summary>The maximum size of a message in bytes, 0 to 4 MiB: 1,024. Most messages are
    /// smaller.</summary>
    public int MaxBytes { get; init; } = 1024;

    /// <summary>The number of messages in a call of a client-streaming method, 1 to 100,000: 10.</summary>
    public int StreamLength { get; init; } = 10;

    /// <exception cref="RpcException">InvalidArgument: a value is out of range.</exception>
    internal void Check()
    {
        int most = RpcLimits.Default.MaxMessageBytes;
        if (MaxBytes < 0 || MaxBytes > most)
        {
            throw Invalid(nameof(MaxBytes), MaxBytes, $"0 to {most:N0} bytes");
        }

        if (StreamLength is < 1 or > MaxStreamLength)
        {
            throw Invalid(nameof(StreamLength), StreamLength, $"1 to {MaxStreamLength:N0} messages");
        }
    }

    private static RpcException Invalid(string name, int value, string range) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
        $"{nameof(RpcRandomMessageOptions)}.{name} is {value}. It must be {range}.");
}

/// <summary>Creates valid messages with random fields and a limited size. The same seed creates the same
/// messages. Not thread-safe.</summary>
internal sealed class RandomMessageSource(int seed, int maxBytes)
{
    private const int MaxDepth = 6;
    private const int Tries = 40;
    private const int MaxItems = 8;
    private const int MaxMessages = 100_000;

    // The minimum size of a field: a tag and a length.
    private const int FieldBytes = 2;
    private const long MinSeconds = -62_135_596_800;
    private const long MaxSeconds = 253_402_300_799;
    private const long MaxDurationSeconds = 315_576_000_000;
    private const int NanosPerSecond = 1_000_000_000;
    private const string Letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 äöüßéñ漢字";

    private readonly Random _random = new(seed);
    private int _left;
    private int _made;

    /// <summary>The next message.</summary>
    /// <exception cref="RpcException">InvalidArgument: no message of that type is so small.</exception>
    public DynamicMessage Make(RpcMessageInfo type)
    {
        // If the message is too large, the next attempt has less space. Without space, only required fields
        // are set.
        for (int i = 0, room = maxBytes; i < Tries; i++, room = room * 3 / 4)
        {
            _left = room;
            _made = 0;
            DynamicMessage message = Make(type, 0);
            if (message.CalculateSize() <= maxBytes)
            {
                message.CheckRequired();
                return message;
            }
        }

        throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
            $"The message {type.FullName} has required fields that do not fit into {maxBytes:N0} bytes. "
            + "Allow larger messages.");
    }

    private static RpcException Impossible(string name) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
        $"The required fields within {name} have no end, or too many messages. Give a message of your own.");

    private DynamicMessage Make(RpcMessageInfo type, int depth)
    {
        if (++_made > MaxMessages)
        {
            throw Impossible(type.FullName);
        }

        DynamicMessage message = new(type);
        if (!TryMakeWellKnown(type, message, depth))
        {
            HashSet<RpcOneofInfo> chosen = [];
            foreach (RpcFieldInfo field in Shuffled(type.Fields))
            {
                if (field.IsRequired || (IsWanted(field, depth) && (field.Oneof is not { } oneof
                    || chosen.Add(oneof))))
                {
                    Fill(message, field, depth);
                }
            }
        }

        return message;
    }

    private bool IsWanted(RpcFieldInfo field, int depth) => _left > FieldBytes
        && (!IsMessage(field) || depth < MaxDepth) && _random.Next(4) > 0;

    private void Fill(DynamicMessage message, RpcFieldInfo field, int depth)
    {
        if (field.IsMap)
        {
            Dictionary<object, object> map = [];
            for (int i = _random.Next(1, MaxItems); i > 0 && _left > FieldBytes; i--)
            {
                map[Scalar(field.MessageType!.Fields[0])] = One(field.MessageType.Fields[1], depth + 1);
            }

            message.Set(field, map);
        }
        else if (field.IsRepeated)
        {
            List<object> items = [];
            for (int i = _random.Next(1, MaxItems); i > 0 && _left > FieldBytes; i--)
            {
                items.Add(One(field, depth));
            }

            if (items.Count > 0)
            {
                message.Set(field, Typed(items));
            }
        }
        else
        {
            message.Set(field, One(field, depth));
        }
    }

    private static object Typed(List<object> items) => items[0] switch
    {
        DynamicMessage => items.Cast<DynamicMessage>(),
        string => items.Cast<string>(),
        byte[] => items.Cast<byte[]>(),
        bool => items.Cast<bool>(),
        int => items.Cast<int>(),
        uint => items.Cast<uint>(),
        long => items.Cast<long>(),
        ulong => items.Cast<ulong>(),
        float => items.Cast<float>(),
        _ => items.Cast<double>(),
    };

    private object One(RpcFieldInfo field, int depth)
    {
        _left -= FieldBytes;
        if (!IsMessage(field))
        {
            return Scalar(field);
        }

        // A type that requires itself would recurse forever.
        return depth < RpcLimits.Default.MaxDepth
            ? Make(field.MessageType!, depth + 1)
            : throw Impossible(field.FullName);
    }

    // Well-known types only allow some values in their fields, because JSON and other formats have a special
    // form for them.
    private bool TryMakeWellKnown(RpcMessageInfo type, DynamicMessage message, int depth)
    {
        IReadOnlyList<RpcFieldInfo> fields = [.. type.Fields.OrderBy(field => field.Number)];
        switch (WellKnownTypes.Get(type))
        {
            case WellKnownType.Timestamp:
                message.Set(fields[0], _random.NextInt64(MinSeconds, MaxSeconds));
                message.Set(fields[1], _random.Next(NanosPerSecond));
                return true;
            case WellKnownType.Duration:
                message.Set(fields[0], _random.NextInt64(0, MaxDurationSeconds));
                message.Set(fields[1], _random.Next(NanosPerSecond));
                return true;
            case WellKnownType.FieldMask:
                message.Set(fields[0], new[] { "name", "size" });
                return true;
            case WellKnownType.Any:
                // Stays empty, because the server may not have any type for its content.
                return true;
            case WellKnownType.Value:
                message.Set(type.FindField("string_value")!, Text());
                return true;
            case WellKnownType.ListValue or WellKnownType.Struct when depth >= MaxDepth:
                return true;
            default:
                return false;
        }
    }

    private object Scalar(RpcFieldInfo field)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                return Text();
            case RpcFieldKind.Bytes:
                byte[] bytes = new byte[Length()];
                _random.NextBytes(bytes);
                return bytes;
            case RpcFieldKind.Enum:
                return field.EnumType!.Values[_random.Next(field.EnumType.Values.Count)].Value;
            case RpcFieldKind.Bool:
                _left--;
                return _random.Next(2) == 0;
            case RpcFieldKind.Double:
                _left -= sizeof(double);
                return (_random.NextDouble() - 0.5) * 1e6;
            case RpcFieldKind.Float:
                _left -= sizeof(float);
                return (_random.NextSingle() - 0.5f) * 1e6f;
            case RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64:
                _left -= sizeof(long);
                return _random.NextInt64() >> _random.Next(63);
            case RpcFieldKind.UInt64 or RpcFieldKind.Fixed64:
                _left -= sizeof(long);
                return (ulong)_random.NextInt64() >> _random.Next(63);
            case RpcFieldKind.UInt32 or RpcFieldKind.Fixed32:
                _left -= sizeof(int);
                return (uint)_random.Next() >> _random.Next(31);
            default:
                _left -= sizeof(int);
                return _random.Next() >> _random.Next(31);
        }
    }

    private string Text()
    {
        StringBuilder text = new();
        for (int i = Length(); i > 0; i--)
        {
            text.Append(Letters[_random.Next(Letters.Length)]);
        }

        return text.ToString();
    }

    // Short texts are more frequent than long ones. A text uses at most a quarter of the remaining space.
    private int Length()
    {
        int length = _random.Next(_random.Next(Math.Max(0, Math.Min(_left / 4, maxBytes))) + 1);
        _left -= length;
        return length;
    }

    private RpcFieldInfo[] Shuffled(IReadOnlyList<RpcFieldInfo> fields)
    {
        RpcFieldInfo[] shuffled = [.. fields];
        _random.Shuffle(shuffled);
        return shuffled;
    }

    private static bool IsMessage(RpcFieldInfo field) =>
        field.Kind is RpcFieldKind.Message or RpcFieldKind.Group;
}
