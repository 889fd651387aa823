using System.Buffers;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Interop;

/// <summary>A listener of the raw layer on TCP that echoes to those whom it lets in.</summary>
internal sealed class EchoListener : IAsyncDisposable
{
    public static readonly Guid Service = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");
    private readonly NativeListener _listener;

    public EchoListener(RpcServerSecurity security)
    {
        ExecInterface echo = new(Service, call =>
        {
            LastCaller = call.Peer;
            call.Reply.Write(call.Request.Span);
            return ValueTask.CompletedTask;
        })
        {
            Security = security,
        };
        _listener = NativeListener.Serve(RpcEndpoint.Tcp("127.0.0.1", 0), echo, RpcLimits.Default);
    }

    public int Port => _listener.Endpoint.Port;

    public PeerIdentity? LastCaller { get; private set; }

    public ValueTask DisposeAsync() => _listener.DisposeAsync();
}
