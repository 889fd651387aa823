namespace ProtoRpc.Tests.Mocks;

/// <summary>The schema of store.proto, and calls of its service.</summary>
internal static class Store
{
    private static readonly Lazy<RpcSchema> SchemaOnce = new(() => RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "Mocks", "protos", "store.proto")]));

    public static RpcSchema Schema => SchemaOnce.Value;

    public static RpcMock Mock() => RpcMock.Create(Schema, ["store.Store"]);

    public static RpcClient Connect(RpcEndpoint endpoint) =>
        RpcClient.Connect(endpoint, Schema, new RpcClientOptions { Service = "store.Store" });

    public static object Query(string text) => new { text };

    public static object Item(string name) => new { name, level = "LOW" };

    public static string Find(RpcClient client, string text) =>
        (string)client.Invoke("Find", Query(text))["name"]!;

    public static async Task<List<string>> WatchAsync(RpcClient client, string text)
    {
        List<string> names = [];
        await foreach (DynamicMessage item in client.InvokeServerStreamAsync("Watch", Query(text)))
        {
            names.Add((string)item["name"]!);
        }

        return names;
    }

    public static async Task<List<string>> SendAsync(RpcClient client, string method, params string[] texts)
    {
        List<string> names = [];
        await using RpcStreamingCall call = client.Open(method);
        foreach (string text in texts)
        {
            await call.SendAsync(Query(text));
        }

        await call.CompleteAsync();
        while (await call.ReadAsync())
        {
            names.Add((string)call.Current["name"]!);
        }

        return names;
    }
}
