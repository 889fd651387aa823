using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>A failure has the same status and error id, whatever endpoint it is met on.</summary>
public static class ErrorIdTests
{
    [Theory]
    [InlineData("fail", "RpcStatus.NotFound")]
    [InlineData("throw", "RpcStatus.Unknown")]
    [InlineData("wait", "RpcStatus.DeadlineExceeded")]
    [InlineData("large reply", "MessageTooLarge")]
    [InlineData("large request", "RpcStatus.ResourceExhausted")]
    [InlineData("bad reply", "RpcStatus.Internal")]
    [InlineData("unhandled", "RpcStatus.Unimplemented")]
    [InlineData("cancel", "RpcStatus.Cancelled")]
    public static void Is_the_same_on_every_endpoint(string what, string id)
    {
        using RpcServer server = Start();
        RpcLimits limits = new() { MaxMessageBytes = what == "large reply" ? 10_000 : 4_000_000 };
        List<string> ids = [];
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            using RpcClient client = RpcClient.Connect(
                endpoint, SearchServer.Schema, new RpcClientOptions { Limits = limits });
            string query = what == "large request" ? new string('q', 200_000) : what;
            using CancellationTokenSource cancellation = new();
            if (what == "cancel")
            {
                cancellation.CancelAfter(300);
            }

            RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
                client.GetMethod(what == "unhandled" ? "Unhandled" : "Search"), Request(query),
                new() { Timeout = TimeSpan.FromSeconds(what == "wait" ? 0.5 : 20) }, cancellation.Token));
            ids.Add($"{endpoint.Transport} {error.ErrorId}");
        }

        Assert.Equal(server.Endpoints.Select(endpoint => $"{endpoint.Transport} {id}"), ids);
    }

    [Fact]
    public static void A_server_that_is_not_there_is_told_the_same_way()
    {
        RpcEndpoint[] gone;
        using (RpcServer server = Start())
        {
            gone = [.. server.Endpoints];
        }

        Assert.All(gone, endpoint => Assert.Equal(
            "RpcStatus.Unavailable",
            Assert.Throws<RpcException>(() => RpcClient.Connect(endpoint, SearchServer.Schema)).ErrorId));
    }

    private static RpcServer Start() => RpcServer
        .Create(SearchServer.Schema, null, new RpcServerOptions
        { Limits = new() { MaxMessageBytes = 100_000 } }.WithHttp())
        .Handle("Search", async (context, request) =>
        {
            switch (SearchServer.TextOf(request))
            {
                case "fail":
                    throw new RpcException(RpcStatusCode.NotFound, "nothing there");
                case "throw":
                    throw new InvalidOperationException("oh");
                case "wait" or "cancel":
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    return request;
                case "large reply":
                    return SearchServer.Found(new string('u', 20_000));
                case "bad reply":
                    return new DynamicMessage(SearchServer.RequestType);
                default:
                    return SearchServer.Found("x");
            }
        })
        .AddEndpoint("http://127.0.0.1:0/")
        .AddEndpoint("grpc://127.0.0.1:0")
        .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]")
        .StartListening();

    private static IMessage Request(string query) =>
        MessageFormats.Json.Read(SearchServer.RequestType, $$"""{"query":"{{query}}"}""");
}
