using System.Text;
using Google.Protobuf;
using Microsoft.AspNetCore.Builder;
using ProtoRpc.Http.Tests.Client;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>Runs the examples of the XML docs.</summary>
public static class ExampleRunTests
{
    private static readonly Guid RawId = new("8c5b4f2e-6c1d-4a53-9f3b-2f1f7a1f4b10");

    [Fact]
    public static async Task Clients_connect()
    {
        using OrderServer server = new("grpc://127.0.0.1:0") { Failures = 1 };
        string address = server.Endpoint.ToString();

        Assert.Equal(1, await ClientExamples.ConnectAsync(address));
        Assert.Equal("o1", await ClientExamples.OptionsAsync(address));
        Assert.Equal("blue", server.Headers[^1].GetText("x-tenant"));
        Assert.Equal("fail", await ClientExamples.RetryAsync(address));
    }

    [Fact]
    public static async Task Clients_call()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema);
        PlaceRequest request = ClientExamples.Request("o1");

        Assert.Equal("o1", await ClientExamples.CallOptionsAsync(client, request));
        Assert.EndsWith("o1", (await ClientExamples.ReplyInfoAsync(client, request)).Trim());
        Assert.Equal("o1", (await ClientExamples.StreamAsync(client)).Trim());
        Assert.Equal(
            "There is no field PlaceRequest.order.name.", (await ClientExamples.ErrorAsync(client)).Trim());
        Assert.Equal("blue", (await ClientExamples.HeadersAsync(client, request)).GetText("x-tenant"));
        Assert.Equal(new byte[] { 1, 2 }, server.Headers[^1].GetBytes("x-key-bin"));
        Assert.Equal("Place", await ClientExamples.ContextAsync());
        Assert.Equal("o1", await HttpExamples.StubsAsync(client));
        Assert.Equal("o1", await ServerExamples.ForwardAsync(client, "grpc://127.0.0.1:0"));
        Assert.Equal("secret", ClientExamples.Secure("secret").Security.Token);
    }

    [Fact]
    public static async Task Clients_read_details()
    {
        using RpcServer server = RpcServer.Create(OrderServer.Schema)
            .Handle("Place", (_, _) => throw new RpcException(RpcStatusCode.FailedPrecondition, "sold out")
            {
                Details = [new OrderEvent { Text = "tea" }],
            })
            .AddEndpoint(OrderServer.NewLocal()).StartListening();
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], OrderServer.Schema);

        string output = await ClientExamples.DetailAsync(client, new PlaceRequest());

        Assert.Equal("Sold out: tea", output.Trim());
    }

    [Fact]
    public static async Task Servers_serve()
    {
        Assert.Equal(1, await ServerExamples.ServeAsync(OrderServer.Schema, OrderServer.NewLocal()));
        byte[] reply = await ServerExamples.RawAsync(RawId, "ncacn_ip_tcp:127.0.0.1[0]");
        Assert.Equal("HELLO", Encoding.UTF8.GetString(reply));
        Assert.Equal(
            RpcStatusCode.Unimplemented,
            await HttpExamples.ServeAsync(OrderServer.Schema, "grpc://127.0.0.1:0"));
    }

    [Fact]
    public static async Task Servers_change()
    {
        using OrderServer server = new(OrderServer.NewLocal());
        using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema);

        await ServerExamples.ChangeAsync(server.Server);

        Assert.Equal("closed", (await client.InvokeAsync("Place", new { }))["id"]);
    }

    [Fact]
    public static async Task Servers_have_options()
    {
        using StringWriter output = new();
        string folder = Directory.CreateTempSubdirectory("protorpc-").FullName;
        try
        {
            using RpcServer checking = ServerExamples.ServeWithOptions(OrderServer.Schema)
                .HandleAll((_, request) => new(request)).AddEndpoint(OrderServer.NewLocal()).StartListening();
            using RpcClient client = RpcClient.Connect(checking.Endpoints[0], OrderServer.Schema);
            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Place", new { }));
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);

            Assert.Equal(1024 * 1024, ServerExamples.Limit().Limits.MaxMessageBytes);
            Assert.Single(ServerExamples.Secure().Security.AllowedUsers);
            Assert.Single(ServerExamples.Authorize().Interceptors);
            Assert.Single(ServerExamples.Record(Path.Combine(folder, "calls.jsonl")).Interceptors);
            Assert.NotNull(ServerExamples.Log(Path.Combine(folder, "access.jsonl")).AccessLog);
            Assert.NotNull(ServerExamples.LogSlow(output).AccessLog);
            Assert.NotNull(ServerExamples.Trace(output).Trace);
            Assert.NotNull(HttpExamples.Options());
            Assert.NotNull(HttpExamples.Check(new Dictionary<string, string>()).Security.Bearer);
            Assert.True(HttpExamples.Export());
            using RpcServer fixedReplies = ServerExamples.Handlers(OrderServer.Schema);
            using RpcRawServer raw = ServerExamples.RawWithOptions(RawId);
            ServerExamples.TraceSent(output).Write(new RpcTraceEntry(
                DateTimeOffset.UnixEpoch, IsSent: true, RpcEndpoint.Local("test"), "BIND"));
            Assert.EndsWith("> BIND", output.ToString().Trim(), StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public static async Task Applications_serve()
    {
        await using WebApplication app = HttpExamples.Host();
        await using WebApplication other = HttpExamples.HostWithOptions();

        HttpExamples.Admin(app, OrderServer.Schema, (_, request) => new ValueTask<IMessage>(request));

        Assert.NotNull(other.Services.GetService(typeof(RpcServer)));
        Assert.Contains("https://shop.example", HttpExamples.Describe(OrderServer.Schema));
    }

    [Fact]
    public static async Task Schemas_and_messages_are_read()
    {
        using StringWriter output = new();
        string folder = Directory.CreateTempSubdirectory("protorpc-").FullName;
        using OrderServer server = new("grpc://127.0.0.1:0");
        try
        {
            Assert.Equal("grpcs://shop2:8443", SchemaExamples.Endpoint());
            Assert.Contains("shop.Orders/Watch", SchemaExamples.Schema(output), StringComparison.Ordinal);
            Assert.Empty(SchemaExamples.Compare(OrderServer.Schema, OrderServer.Schema));
            Assert.Equal("o1", SchemaExamples.Message(OrderServer.Schema)["id"]);
            Assert.Contains("o1", SchemaExamples.Map(OrderServer.Schema), StringComparison.Ordinal);
            Assert.Equal(2, SchemaExamples.Formats(OrderServer.Schema)["total"]);
            Assert.NotEmpty((await SchemaExamples.LoadAsync(
                Path.Combine(AppContext.BaseDirectory, "protos", "sample.proto"))).Services);
            Assert.Equal(server.Endpoint, await SchemaExamples.RegisterAsync(
                Path.Combine(folder, "endpoints.json"), server.Endpoint.ToString()));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public static async Task Tests_and_measures()
    {
        using OrderServer server = new(OrderServer.NewLocal());
        using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema);
        RpcMethodInfo method = client.GetMethod("Place");
        RpcLoadRequests requests = TestingExamples.Requests(method);

        TestingExamples.Mock(OrderServer.Schema);
        Assert.Equal("ann", TestingExamples.Caller(method).User.Name);
        Assert.Equal(100, await TestingExamples.MeasureAsync(client));
        Assert.Equal(["old", "new"], await TestingExamples.TargetsAsync(client, client, method, requests));
        Assert.Equal(20, TestingExamples.Options().Concurrency);
        Assert.IsType<PlaceReply>(await TestingExamples.TestAsync(
            OrderServer.Schema, (_, _) => new ValueTask<IMessage>(new PlaceReply())));
        Assert.Equal(3, await TestingExamples.StreamAsync(OrderServer.Schema, async (_, stream) =>
        {
            await stream.ReadAsync();
            for (int number = 1; number <= 3; number++)
            {
                await stream.WriteAsync(new OrderEvent { Number = number });
            }
        }));
        ReadOnlyMemory<byte>? reply = await TestingExamples.RawAsync(
            RawId,
            (caller, bytes) => new(Encoding.UTF8.GetBytes(caller.User.Name ?? "")),
            TestingExamples.Caller(method));
        Assert.Equal("ann", Encoding.UTF8.GetString(reply!.Value.Span));
    }
}
