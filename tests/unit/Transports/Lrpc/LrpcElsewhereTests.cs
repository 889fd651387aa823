namespace ProtoRpc.Tests.Transports.Lrpc;

/// <summary>LRPC on systems that do not have it.</summary>
public static class LrpcElsewhereTests
{
    private const string Endpoint = "ncalrpc:[MyService,transport=lrpc]";

    [Fact]
    public static void Connecting_says_what_to_use_instead()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Check(Assert.Throws<RpcException>(() => RpcClient.Connect(Endpoint, EchoServer.Schema)));
        Check(Assert.Throws<RpcException>(() => RpcClient.Connect("lrpc://MyService")));
        Check(Assert.Throws<RpcException>(() => RpcRawClient.Connect(Endpoint, Guid.NewGuid())));
    }

    [Fact]
    public static void Listening_says_what_to_use_instead()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using RpcServer server = EchoServer.Create().AddEndpoint(Endpoint);
        using RpcRawServer raw = RpcRawServer.Create(Guid.NewGuid()).AddEndpoint(Endpoint);

        Check(Assert.Throws<RpcException>(server.StartListening));
        Check(Assert.Throws<RpcException>(raw.StartListening));
    }

    private static void Check(RpcException error)
    {
        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Equal(RpcErrorIds.TransportNotSupported, error.ErrorId);
        Assert.Equal(RpcEndpoint.Parse(Endpoint), error.Endpoint);
        Assert.Contains("works on Windows only", error.Message);
        Assert.Contains("'ncalrpc:[MyService]'", error.Message);
    }
}
