namespace ProtoRpc.TestServers;

/// <summary>The service of calls.proto with handlers that do what their names say,
/// on endpoints of its own.</summary>
internal static class EchoServer
{
    public static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(CallsReflection.Descriptor);

    public static RpcEndpoint NewEndpoint(RpcTransport transport) => transport switch
    {
        RpcTransport.Tcp => RpcEndpoint.Tcp("127.0.0.1", 0),
        RpcTransport.NamedPipe => RpcEndpoint.NamedPipe($"test-{Guid.NewGuid():N}"),
        _ => RpcEndpoint.Local($"test-{Guid.NewGuid():N}"),
    };

    public static RpcServer Create(RpcServerOptions? options = null) =>
        RpcServer.Create(Schema, "calls.Echo", options)
        .Handle<EchoRequest, EchoReply>("Say", (context, request) => new EchoReply
        {
            Text = request.Text,
            Payload = request.Payload,
            User = context.User.Name ?? "",
        })
        .Handle(
            "Fail", (_, request) => throw new InvalidOperationException(((DynamicMessage)request).TextOf()))
        .Handle("Wait", async (context, _) =>
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return new EchoReply { Text = "never" };
        });

    public static RpcServer Start(RpcTransport transport, RpcServerOptions? options = null) =>
        Create(options).AddEndpoint(NewEndpoint(transport)).StartListening();

    public static RpcClient Connect(RpcServer server, RpcClientOptions? options = null) => RpcClient.Connect(
        server.Endpoints[0], Schema, (options ?? new RpcClientOptions()) with { Service = "calls.Echo" });

    private static string TextOf(this DynamicMessage request) =>
        (string)request.Get(request.Type.FindField("text")!)!;
}
