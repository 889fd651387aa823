using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Tests.Server;

namespace ProtoRpc.Tests.Gateway;

/// <summary>Sends bytes as requests of calls.Echo that no client of ours would.</summary>
internal sealed class RawCaller(RpcServer server) : IDisposable
{
    private readonly WireCaller _wire = new(server.Endpoints[0], server.Services[0].Value);

    public RpcResponseHeader Call(string method, byte[] request) => _wire.Call(
        method, new OpaqueMessage(EchoServer.Schema.GetMessage("calls.EchoRequest"), request));

    public RpcException Fails(string method, byte[] request)
    {
        RpcResponseHeader reply = Call(method, request);
        Assert.NotNull(reply.Exception);
        return new RpcException(
            (RpcStatusCode)reply.GetExtension(ProtorpcTransportExtensions.StatusCode),
            reply.Exception.Message);
    }

    public void Dispose() => _wire.Dispose();
}
