using ProtoRpc.Calls;
using ProtoRpc.Messages;

namespace ProtoRpc.Interop;

/// <summary>The cases against our own server, with the probes that Python's server cannot do.</summary>
public sealed class GrpcOwnServerTests : GrpcInteropTests
{
    [Theory]
    [InlineData(RpcCompression.Gzip, true, null)]
    [InlineData(RpcCompression.None, false, null)]
    [InlineData(RpcCompression.None, true, RpcStatusCode.InvalidArgument)]
    public void client_compressed_unary_probe(RpcCompression compression, bool expected, RpcStatusCode? refusal)
    {
        using OwnInteropServer server = new();
        using RpcClient client = server.Connect(new() { Compression = compression });
        DynamicMessage request = new MessageMapper().ToMessage(
            GrpcServer.Schema.GetMessage("grpc.testing.SimpleRequest"), new { response_size = 1, expect_compressed = new { value = expected } });

        RpcException? error = Record.Exception(() => client.Invoke(client.GetMethod("UnaryCall"), request)) as RpcException;

        Assert.Equal(refusal, error?.Code);
    }

    private protected override Task<IInteropServer> StartAsync() => Task.FromResult<IInteropServer>(new OwnInteropServer());
}
