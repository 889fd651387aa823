using System.Buffers;
using ProtoRpc.Server.Native;

namespace ProtoRpc.SspiPeer;

/// <summary>A listener on loopback that answers with what it is sent
/// to those whom the system knows.</summary>
internal static class EchoServer
{
    /// <summary>Tells its port, and listens until there is no more input.</summary>
    public static async Task ListenAsync(RpcAuthentication authentication)
    {
        ExecInterface echo = new(Echo.Service, call =>
        {
            call.Reply.Write(call.Request.Span);
            return ValueTask.CompletedTask;
        })
        {
            Security = new RpcServerSecurity { Authentication = authentication },
        };
        await using NativeListener listener = NativeListener.Serve(
            RpcEndpoint.Tcp("127.0.0.1", 0), echo, RpcLimits.Default);
        Console.WriteLine($"port {listener.Endpoint.Port}");
        while (Console.ReadLine() is { } line)
        {
            Console.WriteLine(line);
        }
    }
}
