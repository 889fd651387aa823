using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Mocks;

public static class ReplayTests
{
    [Fact]
    public static async Task What_was_recorded_is_played_back_by_its_requests()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "calls.jsonl");
        using (RpcCallRecorder recorder = new(path))
        using (RpcMock mock = RpcMock.Create(
            Store.Schema, ["store.Store"], new RpcServerOptions { Interceptors = [recorder] }))
        {
            mock.Reply(
                    "Find", Store.Item("first"), Store.Item("second"),
                    new RpcException(RpcStatusCode.NotFound, "none")
                    {
                        Details = [new Google.Protobuf.WellKnownTypes.Duration { Seconds = 3 }],
                    })
                .Reply("Watch", [new[] { Store.Item("a"), Store.Item("b") }])
                .Reply("Collect", Store.Item("few"), Store.Item("many"))
                .Reply("Talk", [new[] { Store.Item("p"), Store.Item("q") }])
                .StartListening();
            await CallAsync(mock.Endpoint);
        }

        using RpcMock replay = Store.Mock().Replay(path).StartListening();
        using RpcClient client = Store.Connect(replay.Endpoint);

        Assert.Equal(["p", "q"], await Store.SendAsync(client, "Talk", "whatever"));
        Assert.Equal(["many"], await Store.SendAsync(client, "Collect", "1", "2"));
        Assert.Equal(["few"], await Store.SendAsync(client, "Collect", "1"));
        RpcException none = Assert.Throws<RpcException>(() => Store.Find(client, "3"));
        Assert.Equal((RpcStatusCode.NotFound, "none"), (none.Code, none.Message));
        Assert.Equal("second", Store.Find(client, "2"));
        Assert.Equal("first", Store.Find(client, "1"));
        Assert.Equal("first", Store.Find(client, "1"));
        Assert.Equal(["a", "b"], await Store.WatchAsync(client, "4"));
    }

    [Fact]
    public static void Other_requests_get_the_answers_in_order_and_the_last_one_stays()
    {
        using RpcMock mock = Replay(Line("1", "a"), Line("2", "b"), Line("3", "c")).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal("b", Store.Find(client, "2"));
        Assert.Equal(
            ["a", "c", "c"], new[] { "other", "more", "still" }.Select(text => Store.Find(client, text)));
        mock.Reset();
        Assert.Equal("a", Store.Find(client, "other"));
    }

    [Fact]
    public static void The_same_requests_get_their_answers_one_after_the_other()
    {
        using RpcMock mock = Replay(Line("1", "a"), Line("1", "b")).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(["a", "b", "b"], Enumerable.Range(0, 3).Select(_ => Store.Find(client, "1")));
    }

    [Fact]
    public static void Several_files_are_played_back_as_one()
    {
        using TempFolder folder = new();
        using RpcMock mock = Store.Mock();
        mock.ReadReplay([folder.Write("1.jsonl", Line("1", "a")), folder.Write("2.jsonl", Line("2", "b"))])();
        mock.StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal(("a", "b"), (Store.Find(client, "1"), Store.Find(client, "2")));
    }

    [Fact]
    public static void What_was_masked_does_not_count()
    {
        string[] lines =
        [
            """{"method":"store.Store/Find","request":{"text":"a","login":{"user":"u","password":"***"}},"""
                + """ "reply":{"name":"masked a","level":"LOW"},"status":"OK","mask":["password"]}""",
            """{"method":"store.Store/Find","request":{"text":"b","login":{"user":"u","password":"***"}},"""
                + """ "reply":{"name":"masked b","level":"LOW"},"status":"OK","mask":["password"]}""",
        ];
        using RpcMock mock = Replay(lines).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        object request = new { text = "b", login = new { user = "u", password = "real" } };

        Assert.Equal("masked b", client.Invoke("Find", request)["name"]);
    }

    [Fact]
    public static void A_reply_that_is_given_counts_more_and_methods_without_calls_have_templates()
    {
        using RpcMock mock = Replay(Line("1", "a")).Reply("Find", Store.Item("given")).StartListening();
        using RpcClient client = Store.Connect(mock.Endpoint);

        Assert.Equal("given", Store.Find(client, "1"));
        Assert.NotNull(client.Invoke("Deep", Store.Query("x")));
    }

    [Theory]
    [InlineData("{", 2)]
    [InlineData("[]", 1)]
    [InlineData("null", 1)]
    [InlineData("""{"status":"OK"}""", 1)]
    [InlineData("""{"method":"store.Store/Find"}""", 1)]
    [InlineData("""{"method":7,"status":"OK"}""", 11)]
    [InlineData("""{"method":"store.Store/Fund","status":"OK"}""", 11)]
    [InlineData("""{"method":"store.Store/Find","status":"Okay"}""", 39)]
    [InlineData("""{"method":"store.Store/Find","status":"5"}""", 39)]
    [InlineData("""{"method":"store.Store/Find","status":"OK","status":"OK"}""", 53)]
    [InlineData("""{"method":"store.Store/Find","status":"OK"} x""", 45)]
    [InlineData("""{"method":"store.Store/Find","status":"OK"}""", 1)]
    [InlineData("""{"method":"store.Store/Find","request":{"txt":"x"},"status":"OK"}""", 41)]
    [InlineData("""{"method":"store.Store/Find","request":{"text":"x"},"reply":{},"status":"OK"}""", 61)]
    [InlineData("""{"method":"store.Store/Collect","requests":{},"status":"OK"}""", 44)]
    [InlineData("""{"method":"store.Store/Find","status":"NotFound","details":[{"@type":"x"}]}""", 60)]
    [InlineData("""{"method":"store.Store/Find","status":"NotFound","mask":[1]}""", 57)]
    [InlineData("""{"method":"store.Store/Find","status":"NotFound","mask":["a..b"]}""", 57)]
    [InlineData("""{"method":"store.Store/Find","status":"NotFound","truncated":true}""", 62)]
    public static void A_bad_line_is_named_with_its_place(string line, int column)
    {
        using TempFolder folder = new();
        string path = folder.Write("bad.jsonl", $"{Line("1", "a")}\r\n\n{line}\n");
        using RpcMock mock = Store.Mock();

        RpcException error = Assert.Throws<RpcException>(() => mock.Replay(path));

        Assert.Equal(RpcErrorIds.InvalidRecording, error.ErrorId);
        Assert.StartsWith($"{path}:3:{column}: ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_line_cut_or_damaged_anywhere_is_refused_or_read_and_never_breaks()
    {
        using TempFolder folder = new();
        string line = Line("1", "a");
        string path = folder.Write("cut.jsonl", "");
        using RpcMock mock = Store.Mock();
        for (int i = 1; i < line.Length; i++)
        {
            File.WriteAllText(path, line[..i]);
            Assert.Equal(
                RpcErrorIds.InvalidRecording, Assert.Throws<RpcException>(() => mock.Replay(path)).ErrorId);
            byte[] damaged = System.Text.Encoding.UTF8.GetBytes(line);
            damaged[i] = 0xFF;
            File.WriteAllBytes(path, damaged);
            Assert.Equal(
                RpcErrorIds.InvalidRecording, Assert.Throws<RpcException>(() => mock.Replay(path)).ErrorId);
        }
    }

    [Fact]
    public static void A_file_that_there_is_not_and_nesting_without_end_are_refused()
    {
        using TempFolder folder = new();
        using RpcMock mock = Store.Mock();
        string deep = folder.Write(
            "deep.jsonl", $$"""{"method":"store.Store/Find","details":{{new string('[', 5000)}}""");

        Assert.Equal(
            RpcStatusCode.NotFound,
            Assert.Throws<RpcException>(() => mock.Replay(Path.Combine(folder.Path, "none"))).Code);
        Assert.Equal(
            RpcErrorIds.InvalidRecording, Assert.Throws<RpcException>(() => mock.Replay(deep)).ErrorId);
    }

    private static async Task CallAsync(RpcEndpoint endpoint)
    {
        using RpcClient client = Store.Connect(endpoint);
        Store.Find(client, "1");
        Store.Find(client, "2");
        Assert.Throws<RpcException>(() => Store.Find(client, "3"));
        await Store.WatchAsync(client, "4");
        await Store.SendAsync(client, "Collect", "1");
        await Store.SendAsync(client, "Collect", "1", "2");
        await Store.SendAsync(client, "Talk", "5", "6");
    }

    private static string Line(string text, string name) =>
        $$$"""{"method":"store.Store/Find","request":{"text":"{{{text}}}"},"""
        + $$$""" "reply":{"name":"{{{name}}}","level":"LOW"},"status":"OK","milliseconds":1.5}""";

    private static RpcMock Replay(params string[] lines)
    {
        using TempFolder folder = new();
        return Store.Mock().Replay(folder.Write("calls.jsonl", string.Join('\n', lines)));
    }
}
