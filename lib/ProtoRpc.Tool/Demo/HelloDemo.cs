using Google.Protobuf;

namespace ProtoRpc.Tool.Demo;

/// <summary>The first example in C#: one service on three transports, and a message over each.</summary>
internal static class HelloDemo
{
    private const string ServiceName = "Sample.MyService";

    public static void Run(ToolConsole console)
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "sample.proto")]);

        // The process id keeps two demos from using the same endpoint.
        string name = $"ProtoRpcDemo{Environment.ProcessId}";
        using RpcServer server = RpcServer.Create(schema, ServiceName)
            .Handle("Send", (context, request) => Show(console, context, (DynamicMessage)request))
            .AddEndpoint(RpcEndpoint.Local(name))
            .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
            .AddEndpoint(RpcEndpoint.NamedPipe(name))
            .StartListening();

        string[] words = ["Hello via LRPC!", "Hello via TCP!", "Hello via NP!"];
        foreach ((RpcEndpoint endpoint, string text) in server.Endpoints.Zip(words))
        {
            console.WriteLine($"Sending over {endpoint}");
            Send(schema, endpoint, text);
        }
    }

    private static void Send(RpcSchema schema, RpcEndpoint endpoint, string text)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, schema, new RpcClientOptions { Service = ServiceName });
        RpcMethodInfo send = client.GetMethod("Send");
        Dictionary<string, object?> request = new() { ["message"] = text };
        client.Invoke(send, new MessageMapper().ToMessage(send.RequestType, request));
    }

    private static ValueTask<IMessage> Show(
        ToolConsole console, RpcServerCallContext context, DynamicMessage request)
    {
        string who = context.User.Name is { Length: > 0 } name ? name : "anonymous";
        object? text = request.Get(request.Type.FindField("message")!);
        console.WriteLine($"{who} says: {text}");
        return new ValueTask<IMessage>(new DynamicMessage(context.Method.ReplyType));
    }
}
