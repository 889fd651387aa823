using System.Text.Json;
using Google.Protobuf;
using ProtoRpc.Tests.Mocks;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Gateway;

/// <summary>Calls through gateways as a file has them, and as a mock plays them back.</summary>
public static class GatewayRecordTests
{
    [Fact]
    public static async Task Calls_of_all_kinds_are_recorded_and_played_back()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path, new() { Mask = ["password"] }))
        {
            using RpcMock mock = Store.Mock()
                .Reply("Find", Store.Item("found"), new RpcException(RpcStatusCode.NotFound, "none"))
                .Reply("Watch", [new[] { Store.Item("a"), Store.Item("b") }])
                .Reply("Collect", Store.Item("few"))
                .Reply("Talk", [new[] { Store.Item("p"), Store.Item("q") }])
                .StartListening();
            using RpcClient client = Store.Connect(mock.Endpoint);
            using RpcServer gateway = RpcServer
                .Create(Store.Schema, "store.Store", new() { Interceptors = [recorder] })
                .Forward(client, "store.Store")
                .AddEndpoint($"inproc://{Guid.NewGuid():N}")
                .StartListening();
            using RpcClient caller = Store.Connect(gateway.Endpoints[0]);
            caller.Invoke("Find", new { text = "1", login = new { user = "ann", password = "s3cret" } });
            Assert.Throws<RpcException>(() => Store.Find(caller, "2"));
            await Store.WatchAsync(caller, "3");
            await Store.SendAsync(caller, "Collect", "4", "5");
            await Store.SendAsync(caller, "Talk", "6");
        }

        using RpcMock replay = Store.Mock().Replay(path).StartListening();
        using RpcClient again = Store.Connect(replay.Endpoint);

        Assert.DoesNotContain("s3cret", await File.ReadAllTextAsync(path), StringComparison.Ordinal);
        Assert.Equal(["p", "q"], await Store.SendAsync(again, "Talk", "6"));
        Assert.Equal(["few"], await Store.SendAsync(again, "Collect", "4", "5"));
        Assert.Equal(["a", "b"], await Store.WatchAsync(again, "3"));
        RpcException none = Assert.Throws<RpcException>(() => Store.Find(again, "2"));
        Assert.Equal((RpcStatusCode.NotFound, "none"), (none.Code, none.Message));
        Assert.Equal("found", Store.Find(again, "1"));
    }

    [Theory]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.Tcp)]
    public static void Messages_still_pass_as_bytes(RpcTransport transport)
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        byte[]? came = null;
        List<string> warnings = [];
        RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Say", (_, request) =>
            {
                came = request.ToByteArray();
                return ValueTask.FromResult<IMessage>(new EchoReply { Text = "answer" });
            })
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();
        using (RpcCallRecorder recorder = new(path, new() { Warning = warnings.Add }))
        using (server)
        {
            using RpcClient client = EchoServer.Connect(server);
            using RpcServer gateway = Start(client, transport, recorder);
            using RawCaller caller = new(gateway);

            // "a", and a field that the schema does not have.
            caller.Call("Say", [0x0A, 0x01, 0x61, 0x98, 0x06, 0x07]);

            // The server says what is wrong with this, which the gateway does not see.
            RpcException error = caller.Fails("Say", [0x0A, 0x7F]);
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
            Assert.Equal(2, server.Counters.Calls);
        }

        JsonElement line = JsonDocument.Parse(Assert.Single(File.ReadAllLines(path))).RootElement;
        Assert.Equal("0A0161980607", Convert.ToHexString(came!));
        Assert.Equal("a", line.GetProperty("request").GetProperty("text").GetString());
        Assert.Equal("answer", line.GetProperty("reply").GetProperty("text").GetString());
        Assert.Contains(warnings, warning => warning.Contains("calls.Echo/Say was not recorded"));
    }

    [Fact]
    public static void A_request_that_came_in_parts_is_not_written_as_an_empty_one()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path))
        {
            using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
                .Handle<EchoRequest, EchoReply>(
                    "Say", (_, request) => new EchoReply { Text = $"{request.Payload.Length}" })
                .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
                .StartListening();
            using RpcClient client = EchoServer.Connect(server);
            using RpcServer gateway = Start(client, RpcTransport.Local, recorder);
            using RpcClient caller = EchoServer.Connect(gateway);

            EchoReply reply = caller.Invoke<EchoReply>(
                "Say", new EchoRequest { Text = "x", Payload = ByteString.CopyFrom(new byte[10_000_000]) });

            Assert.Equal("10000000", reply.Text);
        }

        JsonElement line = JsonDocument.Parse(Assert.Single(File.ReadAllLines(path))).RootElement;
        Assert.True(line.GetProperty("truncated").GetBoolean());
        Assert.False(line.TryGetProperty("request", out _));
        Assert.Equal("10000000", line.GetProperty("reply").GetProperty("text").GetString());
    }

    private static RpcServer Start(RpcClient client, RpcTransport transport, RpcCallRecorder recorder) =>
        RpcServer.Create(EchoServer.Schema, "calls.Echo", new() { Interceptors = [recorder] })
            .Forward(client, "calls.Echo")
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();
}
