using System.Diagnostics;
using ProtoRpc.Tests.Server;
using Shop;

namespace ProtoRpc.Http.Tests.Client;

public sealed class ClientTelemetryTests : IDisposable
{
    private readonly TelemetryLog _log = new();

    public static TheoryData<string> Endpoints =>
        ["tcp://127.0.0.1:0", OrderServer.NewLocal(), "http://127.0.0.1:0", "grpc://127.0.0.1:0"];

    private static PlaceRequest Place(string id) => new() { Order = new Order { Id = id } };

    public void Dispose() => _log.Dispose();

    [Theory]
    [MemberData(nameof(Endpoints))]
    public async Task A_call_is_an_activity_that_the_server_is_told(string endpoint)
    {
        using OrderServer server = new(endpoint);
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        using Activity outer = new Activity("outer").Start();

        client.Invoke<PlaceReply>("Place", Place("a"));
        await client.InvokeAsync<PlaceReply>("Place", Place("b"));

        Assert.Same(outer, Activity.Current);
        Activity[] calls = Own(outer);
        Assert.Equal(2, calls.Length);
        Assert.All(calls, call =>
        {
            Assert.Equal(("shop.Orders/Place", ActivityKind.Client), (call.DisplayName, call.Kind));
            Assert.Equal(outer.SpanId, call.ParentSpanId);
            Assert.Equal("OK", call.GetTagItem("rpc.response.status_code"));
            Assert.Equal(ActivityStatusCode.Unset, call.Status);
        });
        Assert.Equal(calls.Select(call => call.Id), server.Headers.Select(h => h.GetText("traceparent")));
    }

    [Fact]
    public async Task A_failure_is_the_status_of_the_activity_and_of_the_measurement()
    {
        using OrderServer server = new("grpc://127.0.0.1:0") { Failures = 1 };
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        using Activity outer = new Activity("outer").Start();

        await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", Place("fail")));

        Activity call = Assert.Single(Own(outer));
        Assert.Equal(ActivityStatusCode.Error, call.Status);
        Assert.Equal("ABORTED", call.GetTagItem("error.type"));
        (_, double seconds, Dictionary<string, object?> tags) = Assert.Single(
            _log.Measured, one => one.Name == "rpc.client.call.duration"
                && Equals(one.Tags.GetValueOrDefault("server.port"), server.Endpoint.Port));
        Assert.True(seconds > 0);
        Assert.Equal("ABORTED", tags["rpc.response.status_code"]);
        Assert.Equal("shop.Orders/Place", tags["rpc.method"]);
        Assert.Equal("grpc", tags["rpc.system.name"]);
        Assert.Equal("127.0.0.1", tags["server.address"]);
    }

    [Theory]
    [InlineData("o1", "OK")]
    [InlineData("fail", "DATA_LOSS")]
    [InlineData("leave", "CANCELLED")]
    public async Task A_stream_is_an_activity_from_its_begin_to_its_end(string id, string status)
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        using Activity outer = new Activity("outer").Start();

        await using (RpcStreamingCall<WatchRequest, OrderEvent> call =
            client.Open<WatchRequest, OrderEvent>("Watch"))
        {
            Assert.Same(outer, Activity.Current);
            await call.SendAsync(new WatchRequest { Id = id });
            await call.CompleteAsync();
            Assert.True(await call.ReadAsync());
            Assert.Empty(Own(outer));
            await Record.ExceptionAsync(async () =>
            {
                while (id != "leave" && await call.ReadAsync())
                {
                }
            });
        }

        Assert.Same(outer, Activity.Current);
        Activity ended = Assert.Single(Own(outer));
        Assert.Equal(status, ended.GetTagItem("rpc.response.status_code"));
        Assert.Equal(ended.Id, server.Headers.Single().GetText("traceparent"));
    }

    [Fact]
    public async Task A_call_that_names_its_activity_itself_is_left_as_it_is()
    {
        const string Mine = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        using OrderServer server = new("grpc://127.0.0.1:0");
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoint);
        await using RpcClient always = await RpcClient.ConnectAsync(
            server.Endpoint, new() { Headers = new() { { "traceparent", Mine } } });

        await client.InvokeAsync<PlaceReply>(
            "Place", Place("a"), new() { Headers = new() { { "traceparent", Mine } } });
        await always.InvokeAsync<PlaceReply>("Place", Place("b"));

        Assert.All(server.Headers, headers => Assert.Equal([Mine], headers.GetAll("traceparent")));
        Assert.Equal(2, server.Headers.Count);
    }

    [Fact]
    public async Task The_tries_of_an_interceptor_are_one_activity()
    {
        using OrderServer server = new("tcp://127.0.0.1:0") { Failures = 2 };
        await using RpcClient client = await RpcClient.ConnectAsync(
            server.Endpoint, new() { Interceptors = [new Stubborn()] });
        using Activity outer = new Activity("outer").Start();

        await client.InvokeAsync<PlaceReply>("Place", Place("fail"));

        Activity call = Assert.Single(Own(outer));
        Assert.Equal([call.Id, call.Id, call.Id], server.Headers.Select(h => h.GetText("traceparent")));
    }

    // Other tests call at the same time.
    private Activity[] Own(Activity outer) =>
    [
        .. _log.Activities.Where(one => one.TraceId == outer.TraceId && one.Kind == ActivityKind.Client),
    ];

    private sealed class Stubborn : IRpcClientInterceptor
    {
        public async ValueTask<Google.Protobuf.IMessage> InvokeAsync(
            RpcClientCallContext context, Google.Protobuf.IMessage request, RpcClientHandler next)
        {
            while (true)
            {
                try
                {
                    return await next(context, request);
                }
                catch (RpcException e) when (e.Code == RpcStatusCode.Aborted)
                {
                }
            }
        }

        public ValueTask<RpcClientStream> OpenAsync(
            RpcClientCallContext context, RpcClientStreamHandler next) => next(context);
    }
}
