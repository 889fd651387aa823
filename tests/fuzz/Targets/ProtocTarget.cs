using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>protoc's word on messages. An input is a list of them, each a field.</summary>
internal sealed class ProtocTarget : ProtocVerdictTarget
{
    private const int PerInput = 6;

    public override string Name => "protoc";

    public override string Promise => "protoc --decode accepts the same messages";

    public override IMutator Mutator { get; } = new WireMutator(1);

    public override int MaxLength => 16 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        for (int type = 0; type < MessageTypes.All.Count; type++)
        {
            if (Protoc.Knows(MessageTypes.All[type]))
            {
                yield return Make(new Random(type), type);
            }
        }
    }

    protected override IEnumerable<byte[]> Split(byte[] body) =>
        WireField.Split(body).Select(field => field.Value);

    protected override DynamicMessage Parse(RpcMessageInfo type, byte[] one) =>
        DynamicMessage.Parse(type, one.AsSpan());

    protected override bool AcceptsAll(
        RpcMessageInfo type, IReadOnlyList<byte[]> accepted, IReadOnlyList<DynamicMessage> messages) =>
        Protoc.DecodesAll(type, accepted);

    protected override bool Accepts(RpcMessageInfo type, byte[] one) => Protoc.Decodes(type, one);

    protected override string Show(byte[] one) => Convert.ToHexString(one);

    // Of missing required fields protoc only warns, it counts the depth of messages in another way, and of a
    // tag it takes 32 bits, whatever follows.
    protected override bool IsOurs(RpcException error) =>
        error.ErrorId is RpcErrorIds.TooDeep or RpcErrorIds.MissingRequiredField
        || error.Message.Contains("does not fit into 32 bits", StringComparison.Ordinal);

    private static byte[] Make(Random random, int type)
    {
        Tests.Messages.RandomMessages messages = new(random.Next());
        return
        [
            (byte)type,
            .. WireField.Join(Enumerable.Range(0, PerInput).Select(
                _ => new WireField(1, 2, messages.Make(MessageTypes.All[type]).ToByteArray()))),
        ];
    }
}
