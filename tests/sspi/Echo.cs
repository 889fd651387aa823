using System.Buffers;
using System.Net;
using ProtoRpc.Client.Native;

namespace ProtoRpc.SspiPeer;

/// <summary>Calls a listener on loopback that answers with what it is sent.</summary>
internal static class Echo
{
    public static readonly Guid Service = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");

    public static void Call(
        int port, RpcMechanism mechanism, RpcProtectionLevel level, NetworkCredential? user)
    {
        RpcClientSecurity security = new()
        {
            Authentication = user is null ? RpcClientAuthentication.Self : RpcClientAuthentication.User,
            Credential = user,
            Mechanism = mechanism,
            ProtectionLevel = level,
        };
        try
        {
            using NativeConnectionPool client = NativeConnectionPool.Connect(
                RpcEndpoint.Tcp("127.0.0.1", port), Service, RpcLimits.Default, security);
            using NativeClientCall exchange = client.Begin();
            exchange.Request.Write("\u0001\u0002"u8);
            int code = exchange.Execute(TimeSpan.FromSeconds(30));
            Console.WriteLine($"reply {code} {Convert.ToHexString(exchange.Reply.Span)}");
        }
        catch (RpcException e)
        {
            Console.WriteLine($"error {e.ErrorId} {e.Message}");
        }
    }
}
