using ProtoRpc.Tests.Client.InProcess;
using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.LoadTesting;

/// <summary>A server whose handler the test gives, and load tests of it.</summary>
internal static class MeasuredServer
{
    public static RpcMethodInfo Say { get; } = TalkServer.Schema.GetMethod("Say");

    public static RpcServer Serve(Action<Words> handler) =>
        RpcServer.Create(TalkServer.Schema, "talk.Talk")
            .Handle<Words, Words>("Say", (_, request) =>
            {
                handler(request);
                return request;
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

    public static RpcClient Connect(RpcServer server) =>
        RpcClient.Connect(server.Endpoints[0], TalkServer.Schema);

    public static RpcLoadTarget TargetOf(RpcClient client, RpcMethodInfo method, object request) =>
        new(client, method, RpcLoadRequests.Same(method, request));

    public static async Task<RpcLoadResult> RunAsync(RpcLoadTarget target, RpcLoadOptions options) =>
        Assert.Single(await new RpcLoadTest([target], options).RunAsync());
}
