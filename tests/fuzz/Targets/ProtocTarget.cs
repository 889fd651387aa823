using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>protoc's word on messages. An input is a list of them, each a field.</summary>
internal sealed class ProtocTarget : FuzzTarget
{
    private const int Most = 24;
    private const int MostRefused = 3;
    private const int PerInput = 6;

    private readonly Lazy<Protoc> _protoc = new(() => new Protoc());

    public override string Name => "protoc";

    public override string Promise => "protoc --decode accepts the same messages";

    // A process for each input is the cost, not the way through our code.
    public override bool IsGuided => false;

    public override IMutator Mutator { get; } = new WireMutator(1);

    public override int MaxLength => 16 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        for (int type = 0; type < MessageTypes.All.Count; type++)
        {
            if (_protoc.Value.Knows(MessageTypes.All[type]))
            {
                yield return Make(new Random(type), type);
            }
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        List<byte[]> accepted = [];
        List<(byte[] Bytes, string Why)> refused = [];
        foreach (WireField field in WireField.Split(MessageTypes.BodyOf(input)).Take(Most))
        {
            try
            {
                _ = DynamicMessage.Parse(type, field.Value.AsSpan());
                accepted.Add(field.Value);
            }
            catch (RpcException e) when (!IsOurs(e))
            {
                refused.Add((field.Value, e.Message));
            }
            catch (RpcException)
            {
                // protoc says nothing about it.
            }
        }

        if (!_protoc.Value.DecodesAll(type, accepted))
        {
            foreach (byte[] one in accepted)
            {
                Require(
                    _protoc.Value.Decodes(type, one),
                    $"protoc accepts it: {type.FullName} {Convert.ToHexString(one)}");
            }
        }

        foreach ((byte[] one, string why) in refused.Take(MostRefused))
        {
            Require(
                !_protoc.Value.Decodes(type, one),
                $"protoc refuses it: {type.FullName} {Convert.ToHexString(one)} {why}");
        }

        return accepted.Count > 0;
    }

    public override void Dispose()
    {
        if (_protoc.IsValueCreated)
        {
            _protoc.Value.Dispose();
        }
    }

    // Of missing required fields protoc only warns, it counts the depth of messages in another way, and of a
    // tag it takes 32 bits, whatever follows.
    private static bool IsOurs(RpcException e) =>
        e.ErrorId is RpcErrorIds.TooDeep or RpcErrorIds.MissingRequiredField
        || e.Message.Contains("does not fit into 32 bits", StringComparison.Ordinal);

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
