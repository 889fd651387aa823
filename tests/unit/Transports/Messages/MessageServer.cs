using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>A listener of whole messages with one interface, stopped when disposed.</summary>
internal sealed class MessageServer : IAsyncDisposable
{
    private static readonly TimeSpan Drain = TimeSpan.FromSeconds(5);

    public MessageServer(
        string kind, ExecHandler handler, RpcLimits? limits = null,
        Func<ExecInterface, ExecInterface>? with = null, PeerIdentity? caller = null)
        : this(
            kind == "lrpc" ? MessageTransports.Get(NewEndpoint()) : new MemoryMessages(caller), handler,
            limits, with)
    {
    }

    public MessageServer(
        IMessageTransport transport, ExecHandler handler, RpcLimits? limits = null,
        Func<ExecInterface, ExecInterface>? with = null)
    {
        Transport = transport;
        ExecInterface service = new(InterfaceId, handler);
        Listener = MessageListener.Serve(
            Endpoint, with?.Invoke(service) ?? service, limits ?? RpcLimits.Default, Transport);
    }

    /// <summary>The transports that this system has.</summary>
    public static TheoryData<string> Kinds => [.. Names];

    public static TheoryData<string, bool> Ways
    {
        get
        {
            TheoryData<string, bool> ways = [];
            foreach (string kind in Names)
            {
                ways.Add(kind, true);
                ways.Add(kind, false);
            }

            return ways;
        }
    }

    private static string[] Names => OperatingSystem.IsWindows() ? ["memory", "lrpc"] : ["memory"];

    public IMessageTransport Transport { get; }

    public RpcEndpoint Endpoint { get; } = NewEndpoint();

    public Guid InterfaceId { get; } = Guid.NewGuid();

    public MessageListener Listener { get; }

    public static RpcEndpoint NewEndpoint() => RpcEndpoint.Lrpc("t" + Guid.NewGuid().ToString("N"));

    public NativeConnectionPool Connect(RpcLimits? limits = null)
    {
        NativeConnectionPool client = NativeConnectionPool.Over(
            Transport, Endpoint, InterfaceId, limits ?? RpcLimits.Default);
        client.Reach(ClientCalls.Patience);
        return client;
    }

    /// <summary>Sends a stub to a server in memory.</summary>
    public uint Send(byte[] stub) => ((MemoryMessages)Transport).Send(Endpoint, InterfaceId, stub).Code;

    public ValueTask DisposeAsync() => Listener.StopServingAsync(InterfaceId, Drain);
}
