using System.Buffers;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports;

/// <summary>A listener with one interface, stopped when disposed.</summary>
internal sealed class TestServer : IAsyncDisposable
{
    private static readonly TimeSpan Drain = TimeSpan.FromSeconds(5);

    public TestServer(ExecHandler handler, RpcLimits? limits = null, RpcEndpoint? endpoint = null)
    {
        Limits = limits ?? RpcLimits.Default;
        Listener = NativeListener.Serve(
            endpoint ?? NativeEndpoints.Fresh("local"), new ExecInterface(InterfaceId, handler), Limits);
    }

    public Guid InterfaceId { get; } = Guid.NewGuid();

    public RpcLimits Limits { get; }

    public NativeListener Listener { get; }

    public RpcEndpoint Endpoint => Listener.Endpoint;

    public static ValueTask Echo(ExecServerCall call)
    {
        call.Reply.Write(call.Request.Span);
        return ValueTask.CompletedTask;
    }

    public static TestServer Echoing(string kind, RpcLimits? limits = null) =>
        new(Echo, limits, NativeEndpoints.Fresh(kind));

    public NativeConnectionPool Connect(RpcLimits? limits = null) =>
        NativeConnectionPool.Connect(Endpoint, InterfaceId, limits ?? RpcLimits.Default);

    public ValueTask DisposeAsync() => Listener.StopServingAsync(InterfaceId, Drain);
}
