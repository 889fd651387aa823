using System.Collections;
using System.Collections.Specialized;
using System.Globalization;
using System.Numerics;
using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Dictionaries and objects on their way to messages. An input is a list of decisions.</summary>
internal sealed class ObjectTarget : FuzzTarget
{
    private const int MaxDepth = 8;
    private const int MaxItems = 4;

    private static readonly MessageMapper Strict = new();
    private static readonly MessageMapper Loose = new() { AllowUnknownFields = true };

    private static readonly string[] Texts =
    [
        "", " ", "a", "true", "1", "-1", "1.5", "1e3", "NaN", "-Infinity", "9223372036854775808", "0x10",
            "2024-02-29",
        "2024-02-29T12:00:00Z", "1.5s", "00:00:01.5", "a.b,c_d", "AAEC", "_-8", "[1,2]", "{\"a\":1}", "[",
            "\ud800",
        "\0", "漢", "RED", "type.googleapis.com/google.protobuf.Duration", "-0", "٣",
    ];

    private static readonly string[] Names = [
        "@type", "value", "seconds", "nanos", "", "a.b", ".", "..", "KEY", "x"];

    public override string Name => "objects";

    public override string Promise => "an object is rejected, or its message can be written and shown";

    public override int? BytesPerByte => 8192;

    public override int FixedBytes => 256 * 1024;

    public override int MaxLength => 512;

    public override IEnumerable<byte[]> Seeds()
    {
        Random random = new(7);
        for (int i = 0; i < 64; i++)
        {
            yield return Generate(random);
        }
    }

    public override byte[] Generate(Random random)
    {
        byte[] input = new byte[random.Next(1, 200)];
        random.NextBytes(input);
        return input;
    }

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        Tail tail = new(MessageTypes.BodyOf(input));
        object? value = Value(ref tail, type, 0);
        MessageMapper mapper = tail.Byte() % 2 == 0 ? Strict : Loose;
        DynamicMessage? message = null;
        if (!Accepts(
            () => message = meter.Measure(() => mapper.ToMessage(type, value)),
                RpcStatusCode.InvalidArgument))
        {
            return false;
        }

        byte[] bytes = message!.ToByteArray();
        DynamicMessage again = DynamicMessage.Parse(type, bytes.AsSpan());
        Require(
            message.Equals(again), $"what was made is read as it was written: {message} becomes {again}");
        _ = Strict.ToObject(message);
        _ = Strict.ToRecord(message);
        _ = message.ToString();
        return true;
    }

    private static object? Value(ref Tail tail, RpcMessageInfo type, int depth)
    {
        int choice = tail.Byte();
        if (choice < 100 && depth < MaxDepth)
        {
            return Members(ref tail, type, depth);
        }

        return choice < 140 && depth < MaxDepth ? Items(ref tail, type, depth) : Scalar(ref tail, choice);
    }

    private static object Members(ref Tail tail, RpcMessageInfo type, int depth)
    {
        int kind = tail.Next(4);
        IDictionary members = kind switch
        {
            0 => new Hashtable(),
            1 => new Hashtable(StringComparer.OrdinalIgnoreCase),
            2 => new OrderedDictionary(),
            _ => new Dictionary<object, object?>(),
        };
        for (int i = tail.Next(MaxItems + 2); i > 0; i--)
        {
            RpcFieldInfo? field = type.Fields.Count == 0 ? null
                : type.Fields[tail.Byte() % type.Fields.Count];
            object name = tail.Next(8) switch
            {
                0 => Names[tail.Next(Names.Length)],
                1 => tail.Byte(),
                2 when field is not null => field.Name.ToUpperInvariant(),
                3 when field is not null => $"{field.Name}.{Names[tail.Next(Names.Length)]}",
                _ => field?.Name ?? "x",
            };
            members[name] = Value(ref tail, field?.MessageType ?? type, depth + 1);
        }

        // Without an end.
        if (tail.Byte() == 255)
        {
            members["x"] = members;
        }

        return members;
    }

    private static object Items(ref Tail tail, RpcMessageInfo type, int depth)
    {
        ArrayList items = [];
        for (int i = tail.Next(MaxItems); i > 0; i--)
        {
            items.Add(Value(ref tail, type, depth + 1));
        }

        return tail.Next(2) == 0 ? items : items.ToArray();
    }

    private static object? Scalar(ref Tail tail, int choice)
    {
        long number = BitConverter.ToInt64([.. tail.Take(8), .. new byte[8]]);
        return (choice % 28) switch
        {
            0 => null,
            1 => DBNull.Value,
            2 => number % 2 == 0,
            3 => (sbyte)number,
            4 => (byte)number,
            5 => (short)number,
            6 => (ushort)number,
            7 => (int)number,
            8 => (uint)number,
            9 => number,
            10 => (ulong)number,
            11 => BitConverter.Int64BitsToDouble(number),
            12 => BitConverter.Int32BitsToSingle((int)number),
            13 => new decimal((int)number, (int)(number >> 32), 7, number < 0, (byte)(number & 15)),
            14 => new BigInteger(number) * number,
            15 => (char)number,
            16 => DateTime.FromBinary(number & DateTime.MaxValue.Ticks % DateTime.MaxValue.Ticks),
            17 => DateTimeOffset.UnixEpoch.AddSeconds((int)number),
            18 => TimeSpan.FromTicks(number),
            19 => DateOnly.FromDayNumber((int)((uint)number % 3_000_000)),
            20 => new Guid((int)number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
            21 => new MemoryStream(BitConverter.GetBytes(number)),
            22 => BitConverter.GetBytes(number),
            23 => (DayOfWeek)(number % 9),
            24 => new { value = number, seconds = "x", Broken = new Broken() },
            25 => new Broken(),
            26 => Encoding.UTF8.GetString(tail.Take((int)(number & 31))),
            _ => number < 0
                ? number.ToString(CultureInfo.InvariantCulture)
                : Texts[(int)((ulong)number % (ulong)Texts.Length)],
        };
    }

    private sealed class Broken
    {
        // The object that cannot be read.
        public string Text => throw new InvalidOperationException("broken");
    }
}
