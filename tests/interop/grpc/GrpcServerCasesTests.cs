namespace ProtoRpc.Interop;

/// <summary>The official test cases of our client, against the servers of others and our own.</summary>
public static class GrpcServerCasesTests
{
    public static IEnumerable<string> Cases => InteropCases.Names;

    /// <summary>Node's server never compresses what it sends.</summary>
    public static IEnumerable<string> NodeCases =>
        Cases.Except(["server_compressed_unary", "server_compressed_streaming"]);

    public static TheoryData<string> OwnCases => [.. Cases];

    [PeerCall(
        "grpcio", "gRPC", PeerSide.Server, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
            | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Compression)]
    [PeerCall(
        "@grpc/grpc-js", "gRPC", PeerSide.Server, PeerCalls.AllKinds | PeerCalls.Errors
            | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Compression)]
    [Theory]
    [PeerData(Peer.PythonGrpc, nameof(Cases))]
    [PeerData(Peer.NodeGrpc, nameof(NodeCases))]
    public static async Task Peers_server(Peer peer, string name)
    {
        using GrpcServer server = await GrpcServer.StartAsync(peer);
        await InteropCases.RunAsync(name, server);
    }

    [Theory]
    [MemberData(nameof(OwnCases))]
    public static async Task Our_server(string name)
    {
        using OwnInteropServer server = new();
        await InteropCases.RunAsync(name, server);
    }

    /// <summary>What the servers of others cannot tell of the client_compressed cases:
    /// that a request came so.</summary>
    [Theory]
    [InlineData(RpcCompression.Gzip, true, null)]
    [InlineData(RpcCompression.None, false, null)]
    [InlineData(RpcCompression.None, true, RpcStatusCode.InvalidArgument)]
    public static void Our_servers_probe_of_client_compressed_unary(
        RpcCompression compression, bool expected, RpcStatusCode? refusal)
    {
        using OwnInteropServer server = new();
        using RpcClient client = server.Connect(new() { Compression = compression });
        DynamicMessage request = new MessageMapper().ToMessage(
            GrpcServer.Schema.GetMessage("grpc.testing.SimpleRequest"),
            new { response_size = 1, expect_compressed = new { value = expected } });

        Exception? error = Record.Exception(() => client.Invoke(client.GetMethod("UnaryCall"), request));

        Assert.Equal(refusal, (error as RpcException)?.Code);
    }

    [Fact]
    public static async Task Our_servers_probe_of_client_compressed_streaming()
    {
        using OwnInteropServer server = new();
        using RpcClient client = server.Connect();
        DynamicMessage expecting = new MessageMapper().ToMessage(
            GrpcServer.Schema.GetMessage("grpc.testing.StreamingInputCallRequest"),
            new { payload = new { body = new byte[8] }, expect_compressed = new { value = true } });
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("StreamingInputCall"), new RpcCallOptions { Compression = RpcCompression.Gzip });

        await call.SendAsync(expecting);
        await call.SendAsync(expecting, compress: false);
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
    }
}
