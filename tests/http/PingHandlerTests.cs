using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Pings carry the extensions of the user's schema both ways, on every endpoint.</summary>
public static class PingHandlerTests
{
    private const string Request = "google.protobuf.rpc_messages.RpcPingRequest";
    private const string Reply = "google.protobuf.rpc_messages.RpcPingResponse";

    private static readonly RpcSchema Schema = Compile("""
        syntax = "proto2";
        package pings;
        import "rpc_messages.proto";
        message Load { optional double average = 1; repeated string queues = 2; }
        extend google.protobuf.rpc_messages.RpcPingRequest { optional string region = 4711; }
        extend google.protobuf.rpc_messages.RpcPingResponse {
          optional Load load = 100;
          repeated string regions = 536870911;
        }
        message Nothing { }
        service Idle { rpc Do (Nothing) returns (Nothing); }
        """);

    public static TheoryData<string> Endpoints { get; } =
    [
        "http://127.0.0.1:0/", "grpc://127.0.0.1:0", "ncacn_ip_tcp:127.0.0.1[0]",
        $"ncalrpc:[p{Guid.NewGuid():N}]",
    ];

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task What_the_handlers_return_is_merged(string endpoint)
    {
        Recording recording = new();
        using RpcServer server = Start(
            endpoint, new RpcServerOptions { Interceptors = [recording] },
            (_, request) => Answer($$"""
                {"[pings.load]":{"average":1.5,"queues":["a"]},"[pings.regions]":["{{RegionOf(request)}}"]}
                """),
            (_, _) => default,
            (_, _) => Answer("""{"[pings.load]":{"queues":["b"]},"[pings.regions]":["south"]}"""));
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], Schema);

        RpcPingResult result = client.Ping(new RpcPingOptions { Request = Ask("north") });

        DynamicMessage told = (DynamicMessage)await Answer(
            """{"[pings.load]":{"average":1.5,"queues":["a","b"]},"[pings.regions]":["north","south"]}""");
        DynamicMessage reply = result.Reply!.Clone();
        reply.ClearUnknownFields();
        Assert.Equal(told, reply);
        Assert.Equal(("ProtoRpc", "pings.Idle"), (result.Product, string.Join(' ', result.Services)));
        Assert.Equal(["north"], recording.Regions);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void A_handler_that_fails_fails_the_ping(string endpoint)
    {
        List<RpcFailedCall> failures = [];
        using RpcServer server = Start(
            endpoint, new RpcServerOptions { CallFailed = failures.Add, ErrorDetail = RpcErrorDetail.None },
            (_, _) => throw new InvalidOperationException("secret: pw=1"));
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], Schema);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Ping(new RpcPingOptions { Request = Ask("x") }));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.DoesNotContain("secret", error.ToString(), StringComparison.Ordinal);
        Assert.Contains(failures, failure => failure.Error.Message == "secret: pw=1");
    }

    [Fact]
    public static void A_reply_of_another_type_is_the_handlers_fault()
    {
        using RpcServer server = Start(
            "ncacn_ip_tcp:127.0.0.1[0]", new(), (_, request) => ValueTask.FromResult(request));
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], Schema);

        RpcException error = Assert.Throws<RpcException>(() => client.Ping());

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains(
            $"returned the message {Request} and not {Reply}", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void A_server_without_handlers_and_a_client_without_a_schema_ping_as_before(string endpoint)
    {
        using RpcServer server = Start(endpoint, new());
        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);
        using RpcClient asking = RpcClient.Connect(server.Endpoints[0], Schema);

        Assert.Equal("ProtoRpc", client.Ping().Product);
        Assert.Equal("ProtoRpc", asking.Ping(new RpcPingOptions { Request = Ask("x") }).Product);
    }

    [Fact]
    public static void A_ping_asks_by_its_own_message()
    {
        using RpcServer server = Start("ncacn_ip_tcp:127.0.0.1[0]", new());
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], Schema);

        RpcException error = Assert.Throws<RpcException>(() => client.Ping(
            new RpcPingOptions { Request = new DynamicMessage(Schema.GetMessage("pings.Nothing")) }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
    }

    private static RpcServer Start(string endpoint, RpcServerOptions options, params RpcHandler[] handlers) =>
        RpcServer.Create(Schema, null, (options with { PingHandlers = handlers }).WithHttp())
            .Handle("Do", (_, request) => ValueTask.FromResult(request))
            .AddEndpoint(endpoint)
            .StartListening();

    private static RpcSchema Compile(string text)
    {
        string folder = Directory.CreateTempSubdirectory("pings").FullName;
        try
        {
            string file = Path.Combine(folder, "pings.proto");
            File.WriteAllText(file, text);
            return RpcSchema.Load([file]);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static ValueTask<IMessage> Answer(string json) => ValueTask.FromResult<IMessage>(
        ProtoRpc.MessageFormats.Json.Read(Schema.GetMessage(Reply), json));

    private static IMessage Ask(string region) => ProtoRpc.MessageFormats.Json.Read(
        Schema.GetMessage(Request), $$"""{"[pings.region]":"{{region}}"}""");

    private static string RegionOf(IMessage request) =>
        request.ToString()!.Split('"') is [.., string region, _] ? region : "";

    private sealed class Recording : IRpcInterceptor
    {
        public List<string> Regions { get; } = [];

        public ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            // The health service of a gRPC endpoint is asked before.
            if (context.Method.Name == "ping")
            {
                Regions.Add(RegionOf(request));
            }

            return next(context, request);
        }
    }
}
