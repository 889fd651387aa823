namespace ProtoRpc.Tests.Server;

/// <summary>Handlers that read and return fields by name.</summary>
public static class HandleDynamicTests
{
    [Fact]
    public static void A_reply_is_an_object_a_dictionary_or_a_message()
    {
        int number = 0;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo").HandleDynamic(
            "Say", (context, _) => ++number switch
            {
                1 => new { text = "one" },
                2 => new Dictionary<string, object?> { ["text"] = "two" },
                _ => new EchoReply { Text = $"three for {context.Method.Name}" },
            }).AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local)).StartListening();
        using RpcClient client = EchoServer.Connect(server);

        string[] texts =
        [
            .. Enumerable.Range(1, 3)
                .Select(_ => (string)client.Invoke("Say", new { text = "x" })["text"]!),
        ];

        Assert.Equal(["one", "two", "three for Say"], texts);
    }

    [Fact]
    public static void A_wrong_reply_fails_the_call_and_not_the_server()
    {
        object? reply = new { nothing = 1 };
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .HandleDynamic("Say", (_, _) => reply)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local)).StartListening();
        using RpcClient client = EchoServer.Connect(server);

        RpcException failure = Assert.Throws<RpcException>(
            () => client.Invoke("Say", new { text = "x" }));
        reply = null;
        RpcException empty = Assert.Throws<RpcException>(() => client.Invoke("Say", new { text = "x" }));
        reply = new { text = "well" };

        Assert.Contains("nothing", failure.Message, StringComparison.Ordinal);
        Assert.Contains("EchoReply.text must be set", empty.Message, StringComparison.Ordinal);
        Assert.Equal("well", client.Invoke("Say", new { text = "x" })["text"]);
    }
}
