using System.Collections.Concurrent;
using System.Text;
using Google.Protobuf;
using Microsoft.Extensions.Logging;
using ProtoRpc.Http.Tests.Client;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>Runs the code of the pages in docs/csharp that shows the client.</summary>
public static class ClientSamplesTests
{
    public static TheoryData<string> Endpoints =>
        ["tcp://127.0.0.1:0", "http://127.0.0.1:0", "grpc://127.0.0.1:0"];

    [Fact]
    public static async Task Calls_with_generated_messages_streams_and_objects()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Order order = new() { Id = "o1", Items = { "tea" } };

        string output = await ClientSamples.CallAsync(
            server.Endpoint.ToString(), order, CancellationToken.None);

        Assert.Equal(
            ["1", "2", "3", "0"],
            output.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
        Assert.All(
            server.Headers, headers => Assert.Equal("Bearer secret", headers.GetText("authorization")));
        Assert.Equal(3, server.Headers.Count);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Calls_without_generated_classes(string endpoint)
    {
        using OrderServer server = new(endpoint);

        Assert.Equal(2, await ClientSamples.DynamicAsync(server.Endpoint.ToString(), OrderServer.Schema));
    }

    [Fact]
    public static async Task Calls_with_retries()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        Order order = new() { Id = "o1", Items = { "tea", "cups" } };

        Assert.Equal(2, await ClientSamples.RetryAsync(server.Endpoint.ToString(), order));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Measures_a_server(string endpoint)
    {
        using OrderServer server = new(endpoint);
        Order order = new() { Id = "o1", Items = { "tea" } };

        string output = await ClientSamples.MeasureAsync(
            server.Endpoint.ToString(), OrderServer.Schema, order, TimeSpan.FromMilliseconds(200));

        Assert.StartsWith($"{server.Endpoint} shop.Orders/Place\n", output, StringComparison.Ordinal);
        Assert.Contains(", 0 failed, ", output, StringComparison.Ordinal);
        Assert.Contains("p99.9 ", output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Sends_and_reads_in_turn()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");

        Assert.Equal("o1", (await ClientSamples.OpenAsync(server.Endpoint.ToString())).Trim());
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Reports_failures(string endpoint)
    {
        using OrderServer server = new(endpoint) { Failures = 1 };
        PlaceRequest request = new() { Order = new Order { Id = "fail" } };

        string output = await ClientSamples.FailAsync(server.Endpoint.ToString(), request);

        Assert.StartsWith($"shop.Orders/Place at {server.Endpoint} failed with Aborted", output);
    }

    [Fact]
    public static async Task Tests_handlers_without_a_server()
    {
        await ClientSamples.TestAsync(
            OrderServer.Schema,
            (context, request) =>
            {
                string id = ((PlaceRequest)request).Order.Id;
                context.ReplyTrailers.Add("x-last", id);
                return ValueTask.FromResult<IMessage>(new PlaceReply { Id = id });
            },
            async (context, stream) =>
            {
                string id = ((WatchRequest)(await stream.ReadAsync())!).Id;
                for (int number = 1; number <= 3; number++)
                {
                    await stream.WriteAsync(new OrderEvent { Number = number, Text = id });
                }
            });
        await ClientSamples.TestRawAsync(
            Guid.NewGuid(),
            (client, request) => new(
                Encoding.UTF8.GetBytes($"{Encoding.UTF8.GetString(request.Span)} {client.User.Name}")));
    }

    [Fact]
    public static async Task Logs_what_handlers_throw()
    {
        ConcurrentQueue<string> lines = [];
        using LoggerFactory loggers = new([new LogLines(lines)]);
        using RpcServer server = ClientSamples.Log(loggers, OrderServer.Schema)
            .Handle("Count", (_, _) => throw new InvalidOperationException("no count"))
            .AddEndpoint(OrderServer.NewLocal()).StartListening();
        await using RpcClient client = RpcClient.Connect(server.Endpoints[0], OrderServer.Schema);

        await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync<PlaceReply>("Count", new { }));

        Assert.StartsWith("Error ProtoRpc.RpcServer: shop.Orders/Count on ", Assert.Single(lines));
    }
}
