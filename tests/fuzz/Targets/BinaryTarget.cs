using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Protocol Buffers' binary format.</summary>
internal sealed class BinaryTarget : FuzzTarget
{
    private readonly MessageMapper _mapper = new();

    public override string Name => "binary";

    public override string Promise => "decode, encode, decode is stable; size, clone, hash and object agree";

    public override IMutator Mutator { get; } = new WireMutator(1);

    public override int? BytesPerByte => 2048;

    public override IEnumerable<byte[]> Seeds() => MessageTypes.Seeds(2, static m => m.ToByteArray());

    public override byte[]? Generate(Random random) =>
        MessageTypes.Generate(random, static m => m.ToByteArray());

    public override IEnumerable<GrowingInput> Growing()
    {
        int maps = IndexOf("everything.proto3.Maps");
        int singular = IndexOf("everything.proto2.Singular");
        int repeated = IndexOf("everything.proto2.Repeated");
        yield return new("keys of a map", n => Pieces(maps, n, i => Entry(1, (uint)i)));
        yield return new("the same field", n => Pieces(singular, n, _ => [0x08, 0x01]));
        yield return new("unknown fields", n => Pieces(singular, n, i => [0xC0, 0x3E, (byte)(i & 0x7F)]));
        yield return new("unknown groups", n => Pieces(singular, n, _ => [0xC3, 0x3E, 0xC4, 0x3E]));
        yield return new("repeated elements", n => Pieces(repeated, n, _ => [0x08, 0x01]));
        yield return new("keys of one bucket", n => Pieces(maps, n, i => Entry(1, KeyOfBucket(i))));
        yield return new("keys of one hash", n => Pieces(maps, n, i => Entry(2, KeyOfHash(i))), 8192);
        yield return new(
            "unsigned keys of one hash", n => Pieces(maps, n, i => Entry(4, KeyOfHash(i))), 8192);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        byte[] body = MessageTypes.BodyOf(input);
        DynamicMessage? message = null;
        if (!Accepts(
            () => message = meter.Measure(() => DynamicMessage.Parse(type, body.AsSpan())),
            RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted))
        {
            return false;
        }

        byte[] written = message!.ToByteArray();
        Require(written.Length == message.CalculateSize(), "the size is what is written");
        DynamicMessage again = DynamicMessage.Parse(type, written.AsSpan());
        Require(message.Equals(again), "what was written is read as it was");
        Require(message.GetHashCode() == again.GetHashCode(), "equal messages have equal hashes");
        Require(written.AsSpan().SequenceEqual(again.ToByteArray()), "bytes stay the same");
        Require(message.Equals(message.Clone()), "a clone is equal");
        _ = _mapper.ToObject(message);
        _ = message.ToString();
        return true;
    }

    /// <summary>The largest number of buckets of .NET's dictionaries that these inputs reach.</summary>
    public static uint KeyOfBucket(int i) => (uint)i * 36_353 & int.MaxValue;

    /// <summary>Numbers of 64 bits that .NET hashes to the same number of 32.</summary>
    public static ulong KeyOfHash(int i) => ((ulong)i << 32) | ((ulong)i ^ 0x1234567);

    private static byte[] Entry(int field, ulong key) => WireField.Join(
        [new WireField(field, 2, WireField.Join([new WireField(1, 0, WireField.Varint(key))]))]);

    private static int IndexOf(string name) =>
        Enumerable.Range(0, MessageTypes.All.Count).First(i => MessageTypes.All[i].FullName == name);

    private static byte[] Pieces(int type, int count, Func<int, byte[]> piece) =>
        [(byte)type, .. Enumerable.Range(0, count).SelectMany(piece)];
}
