namespace ProtoRpc.Benchmarks.Grpc;

/// <summary>Sends a million small messages in one stream.</summary>
internal static class NumbersServer
{
    public const int Count = 1_000_000;

    public static RpcSchema LoadSchema() => SampleData.LoadSchema("numbers.proto");

    public static RpcServer Serve(string endpoint)
    {
        RpcSchema schema = LoadSchema();
        RpcMessageInfo number = schema.GetMessage("numbers.Number");
        RpcFieldInfo value = number.FindField("value")!;
        return RpcServer.Create(schema, null, new RpcServerOptions().WithHttp())
            .HandleStreaming("Count", async (_, stream) =>
            {
                DynamicMessage reply = new(number);
                await stream.ReadAsync();
                for (int i = 0; i < Count; i++)
                {
                    reply.Set(value, i);
                    await stream.WriteAsync(reply);
                }
            })
            .AddEndpoint(endpoint)
            .StartListening();
    }
}
