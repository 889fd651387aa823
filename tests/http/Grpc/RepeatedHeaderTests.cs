using ProtoRpc.Http.Tests.Gateway;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Headers with several values of one name.</summary>
public static class RepeatedHeaderTests
{
    private static RpcMetadata TwoOfBytes => new() { { "x-two-bin", [1] }, { "X-Two-Bin", [2] } };

    [Fact]
    public static async Task Two_values_of_bytes_are_not_sent_over_gRPC()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        RpcException error = await FailsAsync(client, new() { Headers = TwoOfBytes });

        Assert.Equal(
            (RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader, false),
            (error.Code, error.ErrorId, error.MayHaveExecuted));
        Assert.Contains("'x-two-bin'", error.Message, StringComparison.Ordinal);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Fact]
    public static async Task Nor_is_one_of_the_client_and_one_of_the_call()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect(new() { Headers = new() { { "x-two-bin", [1] } } });

        RpcException error = await FailsAsync(
            client, new() { Headers = new() { { "x-two-bin", [2] } } });

        Assert.Equal(RpcErrorIds.InvalidHeader, error.ErrorId);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(GatewayChain.Tcp)]
    [InlineData(GatewayChain.Http)]
    [InlineData("inproc")]
    public static async Task A_gateway_to_gRPC_answers_Internal_and_names_the_header(string front)
    {
        using GatewayChain chain = new(front, GatewayChain.Grpc);

        RpcException error = await chain.FailsAsync("hello", new() { Headers = TwoOfBytes });

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains("The header 'x-two-bin' has several values", error.Message, StringComparison.Ordinal);
        Assert.Equal(0, chain.Server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(GatewayChain.Tcp)]
    [InlineData(GatewayChain.Http)]
    [InlineData("inproc")]
    public static async Task Other_endpoints_carry_both(string endpoint)
    {
        IReadOnlyList<object> seen = [];
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                seen = context.RequestHeaders.GetAll("x-two-bin");
                return new(request);
            })
            .AddEndpoint(endpoint == "inproc" ? $"inproc://{Guid.NewGuid():N}" : endpoint)
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        await client.InvokeAsync("Say", WordsServer.Text("x"), new() { Headers = TwoOfBytes });

        Assert.Equal([[1], [2]], seen.Cast<byte[]>());
    }

    [Fact]
    public static async Task Two_texts_arrive_as_one()
    {
        string? seen = null;
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                seen = context.RequestHeaders.GetText("x-two");
                return new(request);
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        await client.InvokeAsync(
            "Say", WordsServer.Text("x"), new() { Headers = new() { { "x-two", "a" }, { "x-two", "b" } } });

        Assert.Equal("a, b", seen);
    }

    private static async Task<RpcException> FailsAsync(RpcClient client, RpcCallOptions options) =>
        await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Say", WordsServer.Text("hello"), options));
}
