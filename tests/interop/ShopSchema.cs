namespace ProtoRpc.Interop;

/// <summary>The service that old peers and ours have in common: one method, with a text each way.</summary>
internal static class ShopSchema
{
    public static readonly Guid Interface = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");

    private const string Source = """
        syntax = "proto2";
        package shop;
        import "rpc_messages.proto";
        extend google.protobuf.rpc_messages.RpcCallContext {
          optional string tenant = 100;
        }
        message Text { optional string text = 1; }
        service Shop { rpc Send (Text) returns (Text); }
        """;

    private static readonly Lazy<RpcSchema> Loaded = new(Load);

    public static RpcSchema Schema => Loaded.Value;

    public static RpcMethodInfo Send => Schema.GetMethod("shop.Shop/Send");

    public static DynamicMessage Text(string text)
    {
        DynamicMessage message = new(Send.RequestType);
        message.Set(Send.RequestType.FindField("text")!, text);
        return message;
    }

    public static string TextOf(Google.Protobuf.IMessage message) =>
        (string)((DynamicMessage)message).Get(Send.RequestType.FindField("text")!)!;

    public static RpcFieldInfo Tenant => Schema
        .GetMessage("google.protobuf.rpc_messages.RpcCallContext").FindField("[shop.tenant]")!;

    public static RpcServer Start(
        Func<RpcServerCallContext, string, string> handler, RpcErrorDetail? detail = null) => RpcServer
            .Create(Schema, options: new RpcServerOptions { ErrorDetail = detail }, interfaceId: Interface)
            .Handle("Send", (context, request) => ValueTask.FromResult<Google.Protobuf.IMessage>(
                Text(handler(context, TextOf(request)))))
            .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
            .StartListening();

    private static RpcSchema Load()
    {
        string folder = Directory.CreateTempSubdirectory("protorpc-").FullName;
        try
        {
            string path = Path.Combine(folder, "shop.proto");
            File.WriteAllText(path, Source);
            return RpcSchema.Load([path]);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}
