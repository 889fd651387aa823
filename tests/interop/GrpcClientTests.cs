using ProtoRpc.Calls;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.Interop;

/// <summary>What our client does with Python's gRPC server beyond the official test cases.</summary>
public static class GrpcClientTests
{
    [PeerFact(Peer.Grpc)]
    public static async Task Its_reflection_gives_the_schema()
    {
        foreach (string version in new[] { "v1", "v1alpha" })
        {
            using GrpcServer server = await GrpcServer.StartAsync("--reflection", version);
            using RpcClient client = RpcClient.Connect(server.Endpoint);

            RpcSchema schema = client.FetchSchema();

            Assert.Equal(
                ["grpc.testing.TestService", "grpc.testing.UnimplementedService", "grpc.health.v1.Health"],
                schema.Services.Select(s => s.FullName));
            Assert.Equal(["interop.proto", "grpc/health/v1/health.proto"], schema.RootFiles);
            DynamicMessage reply = client.Invoke(
                client.GetMethod("EmptyCall"), new DynamicMessage(schema.GetMessage("grpc.testing.Empty")));
            Assert.Empty(reply.ToByteArray());
        }
    }

    [PeerFact(Peer.Grpc)]
    public static async Task A_server_without_reflection_is_told_as_that()
    {
        using GrpcServer server = await GrpcServer.StartAsync();
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => client.FetchSchema());

        Assert.Equal("NoReflection", error.ErrorId);
        Assert.Contains("-Schema", error.Message, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Grpc)]
    public static async Task Its_health_is_in_the_ping()
    {
        using GrpcServer server = await GrpcServer.StartAsync();
        using RpcClient client = server.Connect();

        RpcPingResult result = client.Ping();

        Assert.Equal("Serving", result.Health);
        Assert.True(result.Latency > TimeSpan.Zero);
    }

    [PeerFact(Peer.Grpc)]
    public static async Task A_Unix_socket_is_an_endpoint()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        using GrpcServer server = await GrpcServer.StartAsync("--unix", path);
        using RpcClient client = server.Connect();

        Assert.Equal(RpcTransport.GrpcUnix, server.Endpoint.Transport);
        Assert.Equal("Serving", client.Ping().Health);
    }

    [PeerFact(Peer.Grpc)]
    public static async Task Details_of_a_status_are_decoded()
    {
        using GrpcServer server = await GrpcServer.StartAsync();
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

    [PeerFact(Peer.Grpc)]
    public static async Task A_large_reply_is_refused()
    {
        using GrpcServer server = await GrpcServer.StartAsync();
        using RpcClient client = server.Connect();
        RpcMethodInfo method = client.GetMethod("UnaryCall");
        DynamicMessage request = new MessageMapper().ToMessage(
            method.RequestType, new { response_size = RpcLimits.Default.MaxMessageBytes });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(method, request));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("MessageTooLarge", error.ErrorId);
    }
}
