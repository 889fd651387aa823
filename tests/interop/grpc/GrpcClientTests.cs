namespace ProtoRpc.Interop;

/// <summary>What our client does with the gRPC servers of others beyond the official test cases.</summary>
[PeerCall(
    "grpcio", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.ErrorDetails | PeerCalls.UnixSockets
        | PeerCalls.Reflection | PeerCalls.Health)]
[PeerCall(
    "@grpc/grpc-js", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.ErrorDetails
        | PeerCalls.UnixSockets | PeerCalls.Reflection | PeerCalls.Health)]
public static class GrpcClientTests
{
    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task Its_reflection_gives_the_schema(Peer peer)
    {
        foreach (string version in new[] { "v1", "v1alpha" })
        {
            using GrpcServer server = await GrpcServer.StartAsync(peer, "--reflection", version);
            using RpcClient client = RpcClient.Connect(server.Endpoint);

            RpcSchema schema = client.FetchSchema();

            Assert.Equal(
                ["grpc.testing.TestService", "grpc.testing.UnimplementedService", "grpc.health.v1.Health"],
                schema.Services.Select(s => s.FullName));

            // Node's loader tells files by the package that they are of.
            Assert.Equal(
                peer == Peer.NodeGrpc
                    ? ["grpc_testing.proto", "grpc_health_v1.proto"]
                    : ["interop.proto", "grpc/health/v1/health.proto"],
                schema.RootFiles);
            DynamicMessage reply = client.Invoke(
                client.GetMethod("EmptyCall"), new DynamicMessage(schema.GetMessage("grpc.testing.Empty")));
            Assert.Empty(reply.ToByteArray());
        }
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task A_server_without_reflection_is_told_as_that(Peer peer)
    {
        using GrpcServer server = await GrpcServer.StartAsync(peer);
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => client.FetchSchema());

        Assert.Equal("NoReflection", error.ErrorId);
        Assert.Contains("Give a schema", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task Its_health_is_in_the_ping(Peer peer)
    {
        using GrpcServer server = await GrpcServer.StartAsync(peer);
        using RpcClient client = server.Connect();

        RpcPingResult result = client.Ping();

        Assert.Equal("Serving", result.Health);
        Assert.True(result.Latency > TimeSpan.Zero);
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task A_Unix_socket_is_an_endpoint(Peer peer)
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        using GrpcServer server = await GrpcServer.StartAsync(peer, "--unix", path);
        using RpcClient client = server.Connect();

        Assert.Equal(RpcTransport.GrpcUnix, server.Endpoint.Transport);
        Assert.Equal("Serving", client.Ping().Health);
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task Details_of_a_status_are_decoded(Peer peer)
    {
        using GrpcServer server = await GrpcServer.StartAsync(peer);
        using RpcClient client = server.Connect();
        RpcMethodInfo method = client.GetMethod("UnaryCall");
        DynamicMessage request = new MessageMapper().ToMessage(method.RequestType, new
        {
            response_status = new { code = 8, message = "with details" },
        });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(method, request));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("with details", error.Message);
        Assert.Equal("3", error.Trailers["retries"]);
        Assert.Equal(
            ["google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.protobuf.Any"],
            error.Details.Cast<DynamicMessage>().Select(d => d.Type.FullName));
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task A_large_reply_is_refused(Peer peer)
    {
        using GrpcServer server = await GrpcServer.StartAsync(peer);
        using RpcClient client = server.Connect();
        RpcMethodInfo method = client.GetMethod("UnaryCall");
        DynamicMessage request = new MessageMapper().ToMessage(
            method.RequestType, new { response_size = RpcLimits.Default.MaxMessageBytes });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(method, request));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("MessageTooLarge", error.ErrorId);
    }
}
