using Google.Protobuf;
using ProtoRpc.Protocols.Grpc.Proto;
using Status = ProtoRpc.Protocols.Grpc.Proto.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Reflection and health, which gRPC endpoints serve by themselves.</summary>
public static class GrpcBuiltInTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly RpcSchema Health = RpcSchema.FromDescriptors(HealthReflection.Descriptor);
    private static readonly RpcSchema Reflection = RpcSchema.FromDescriptors(ReflectionReflection.Descriptor);

    [Fact]
    public static void A_client_without_a_schema_is_told_it()
    {
        using WordsServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcSchema schema = client.FetchSchema();

        Assert.Equal(
            ["Say", "Split", "Join", "Chat"],
            schema.GetMethod("streams.Words/Say").Service.Methods.Select(m => m.Name));
    }

    [Fact]
    public static void A_schema_that_imports_the_native_headers_by_all_their_names_is_told()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-tests-");
        try
        {
            string path = Path.Combine(folder.FullName, "a.proto");
            File.WriteAllText(path, """
                syntax = "proto2";
                import "rpc_messages.proto";
                import "csharp_rpc_messages.proto";
                import "google/protobuf/csharp_rpc_messages.proto";
                service S {
                  rpc Do (google.protobuf.rpc_messages.RpcVoid)
                      returns (google.protobuf.rpc_messages.RpcVoid);
                }
                """);
            using RpcServer server = RpcServer
                .Create(RpcSchema.Load([path]), "S", new RpcServerOptions().WithHttp())
                .Handle("Do", (context, _) => new(new DynamicMessage(context.Method.ReplyType)))
                .AddEndpoint("grpc://127.0.0.1:0")
                .StartListening();
            using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

            RpcMethodInfo method = client.FetchSchema().GetMethod("S/Do");
            IMessage reply = client.Invoke(method, new DynamicMessage(method.RequestType));

            Assert.Equal(0, reply.CalculateSize());
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static async Task Every_question_of_reflection_is_answered()
    {
        using WordsServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint, Reflection);
        ServerReflectionRequest[] questions =
        [
            new() { ListServices = "*" },
            new() { FileByFilename = "streams.proto" },
            new() { FileContainingSymbol = "streams.Words.Say" },
            new() { FileContainingSymbol = "streams.Text.payload" },
            new() { FileContainingSymbol = "grpc.reflection.v1alpha.ServerReflection" },
            new() { AllExtensionNumbersOfType = "streams.Text" },
            new() { FileContainingSymbol = "streams.Nothing" },
            new()
            {
                FileContainingExtension = new() { ContainingType = "streams.Text", ExtensionNumber = 7 },
            },
            new() { AllExtensionNumbersOfType = "streams.Nothing" },
            new(),
        ];

        List<ServerReflectionResponse> replies = [];
        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            client.GetMethod("ServerReflectionInfo"), questions.ToAsyncEnumerable().Select(q => (IMessage)q)))
        {
            replies.Add(ServerReflectionResponse.Parser.ParseFrom(reply.ToByteArray()));
        }

        Assert.Equal(questions, replies.Select(r => r.OriginalRequest));
        Assert.Equal(
            [
                "streams.Words", "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
            ],
            replies[0].ListServicesResponse.Service.Select(s => s.Name));
        Assert.All(replies[1..5], r => Assert.Single(r.FileDescriptorResponse.FileDescriptorProto));
        Assert.Empty(replies[5].AllExtensionNumbersResponse.ExtensionNumber);
        Assert.Equal([5, 5, 5, 3], replies[6..].Select(r => r.ErrorResponse.ErrorCode));
    }

    [Fact]
    public static async Task Version_1_alpha_is_the_same()
    {
        using WordsServer server = new();

        using HttpResponseMessage response = await server.PostAsync(
            WordsServer.Frame(new ServerReflectionRequest { ListServices = "" }),
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");

        Assert.Equal("0", WordsServer.Find(response, "grpc-status"));
    }

    [Fact]
    public static void A_server_may_keep_its_schema_and_health_to_itself()
    {
        using WordsServer server = new(http: new() { EnableReflection = false, EnableHealth = false });

        using RpcClient client = server.Connect();

        Assert.Equal("NoReflection", Assert.Throws<RpcException>(() => client.FetchSchema()).ErrorId);
        Assert.Equal("", client.Ping().Health);
    }

    [Fact]
    public static void Reflection_and_health_keep_to_the_rules()
    {
        using WordsServer server = new(options: new()
        {
            Interceptors = [RpcAuthorization.FromRules(
                new Dictionary<string, string> { ["grpc.*"] = "ann", ["*"] = "anonymous" })],
        });
        using RpcClient client = server.Connect();

        Assert.Equal(
            RpcStatusCode.Unauthenticated, Assert.Throws<RpcException>(() => client.FetchSchema()).Code);
    }

    [Fact]
    public static async Task Health_is_told_for_the_server_and_for_each_service_until_it_stops()
    {
        using WordsServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint, Health);

        Assert.Equal("Serving", client.Ping().Health);
        Assert.Equal(Status.Serving, client.Invoke<HealthCheckResponse>(
            "Check", new HealthCheckRequest { Service = "streams.Words" }).Status);
        RpcException silent = Assert.Throws<RpcException>(() => client.Invoke<HealthCheckResponse>(
            "Check", new HealthCheckRequest { Service = "streams.Silent" }));
        Assert.Equal(RpcStatusCode.NotFound, silent.Code);
        await using RpcStreamingCall unknown = await WatchAsync(client, "streams.Silent");
        await using RpcStreamingCall call = await WatchAsync(client, "");
        Assert.Equal(Status.ServiceUnknown, StatusOf(unknown));
        Assert.Equal(Status.Serving, StatusOf(call));

        Task stopped = server.Server.StopAsync(TimeSpan.FromSeconds(20));

        Assert.True(await call.ReadAsync());
        Assert.Equal(Status.NotServing, StatusOf(call));
        Assert.False(await call.ReadAsync());
        await stopped.WaitAsync(Patience);
    }

    private static async Task<RpcStreamingCall> WatchAsync(RpcClient client, string service)
    {
        RpcStreamingCall call = client.Open(client.GetMethod("Watch"));
        await call.SendAsync(new HealthCheckRequest { Service = service });
        await call.CompleteAsync();
        Assert.True(await call.ReadAsync());
        return call;
    }

    private static Status StatusOf(RpcStreamingCall call) =>
        HealthCheckResponse.Parser.ParseFrom(call.Current.ToByteArray()).Status;
}
