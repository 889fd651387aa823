namespace ProtoRpc.TestServers;

/// <summary>A service whose schema extends the call context, with a handler that the test gives.</summary>
internal static class ContextServer
{
    private const string Source = """
        syntax = "proto2";
        package side;
        import "rpc_messages.proto";
        extend google.protobuf.rpc_messages.RpcCallContext {
          optional string tenant = 100;
          optional int32 visits = 101;
        }
        message Void {}
        service Context { rpc Do (Void) returns (Void); }
        """;

    private static readonly Lazy<RpcSchema> Loaded = new(Load);

    public static RpcSchema Schema => Loaded.Value;

    public static RpcServer Start(Action<RpcServerCallContext> handler, RpcServerOptions? options = null) =>
        RpcServer.Create(Schema, "side.Context", options)
            .Handle("Do", (context, _) =>
            {
                handler(context);
                return ValueTask.FromResult<Google.Protobuf.IMessage>(
                    new DynamicMessage(context.Method.ReplyType));
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

    public static RpcClient Connect(RpcServer server) =>
        RpcClient.Connect(server.Endpoints[0], Schema, new RpcClientOptions { Service = "side.Context" });

    public static void Do(this RpcClient client)
    {
        RpcMethodInfo method = client.GetMethod("Do");
        client.Invoke(method, new DynamicMessage(method.RequestType));
    }

    public static RpcFieldInfo Field(string extension) =>
        Schema.GetMessage("google.protobuf.rpc_messages.RpcCallContext").FindField($"[side.{extension}]")!;

    private static RpcSchema Load()
    {
        string folder = Directory.CreateTempSubdirectory("protorpc-").FullName;
        try
        {
            string path = Path.Combine(folder, "side.proto");
            File.WriteAllText(path, Source);
            return RpcSchema.Load([path]);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}
