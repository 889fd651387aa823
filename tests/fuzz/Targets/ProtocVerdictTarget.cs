using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A target whose inputs are lists; protoc must accept and refuse the same items of them.</summary>
internal abstract class ProtocVerdictTarget : FuzzTarget
{
    private const int Most = 24;
    private const int MostRefused = 3;

    private readonly Lazy<Protoc> _protoc = new(() => new Protoc());

    // A process for each input is the cost, not the way through our code.
    public override bool IsGuided => false;

    protected Protoc Protoc => _protoc.Value;

    public override bool Run(byte[] input, Meter meter)
    {
        RpcMessageInfo type = MessageTypes.Of(input);
        List<byte[]> accepted = [];
        List<DynamicMessage> messages = [];
        List<(byte[] Bytes, string Why)> refused = [];
        foreach (byte[] one in Split(MessageTypes.BodyOf(input)).Take(Most))
        {
            try
            {
                messages.Add(Parse(type, one));
                accepted.Add(one);
            }
            catch (RpcException e) when (!IsOurs(e))
            {
                refused.Add((one, e.Message));
            }
            catch (RpcException)
            {
                // protoc says nothing about it.
            }
        }

        if (!AcceptsAll(type, accepted, messages))
        {
            foreach (byte[] one in accepted)
            {
                Require(Accepts(type, one), $"protoc accepts it: {type.FullName} {Show(one)}");
            }
        }

        foreach ((byte[] one, string why) in refused.Take(MostRefused))
        {
            Require(!Accepts(type, one), $"protoc refuses it: {type.FullName} {Show(one)} {why}");
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

    /// <summary>The items of an input, without its first byte.</summary>
    protected abstract IEnumerable<byte[]> Split(byte[] body);

    /// <summary>Our verdict on an item.</summary>
    /// <exception cref="RpcException">It is not valid.</exception>
    protected abstract DynamicMessage Parse(RpcMessageInfo type, byte[] one);

    /// <summary>Whether only we refuse it, and may.</summary>
    protected abstract bool IsOurs(RpcException error);

    /// <summary>Whether protoc accepts all of them; compares what it makes of them.</summary>
    protected abstract bool AcceptsAll(
        RpcMessageInfo type, IReadOnlyList<byte[]> accepted, IReadOnlyList<DynamicMessage> messages);

    /// <summary>protoc's verdict on an item.</summary>
    protected abstract bool Accepts(RpcMessageInfo type, byte[] one);

    /// <summary>An item as a text for people.</summary>
    protected abstract string Show(byte[] one);
}
