using Google.Protobuf;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Answers searches as <c>SearchApi</c> does, for the comparison of shells' calls.</summary>
internal static class SearchServer
{
    public static RpcServer Serve(string endpoint)
    {
        RpcSchema schema = SampleData.LoadSchema("search.proto");
        Dictionary<string, object?> hit = new()
        {
            ["url"] = "http://example.com/",
            ["title"] = "An example",
            ["snippets"] = new[] { "first words", "second words" },
        };
        DynamicMessage reply = new MessageMapper().ToMessage(
            schema.GetMethod("Search").ReplyType, new Dictionary<string, object?>
            { ["result"] = new[] { hit } });
        return RpcServer.Create(schema, options: new RpcServerOptions().WithHttp())
            .Handle("Search", (_, _) => new ValueTask<IMessage>(reply))
            .AddEndpoint(endpoint)
            .StartListening();
    }
}
