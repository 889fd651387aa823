namespace ProtoRpc.Http.Tests.Tool;

/// <summary>Replies of <c>protorpc listen</c>: given, by templates, from files, and failures.</summary>
public static class ListenRepliesTests
{
    private const string Grpc = "grpc://127.0.0.1:0";
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    [Fact]
    public static async Task Each_method_has_its_own_answer_and_the_rest_is_not_there()
    {
        await using Served served = await Served.StartAsync(
            Grpc, "--reply", "Say={\"text\":\"one\"}", "--reply",
            "Words/Split=[{\"text\":\"a\"},{\"text\":\"b\"}]",
            "--fail", "streams.Words/Join=NOT_FOUND: no such text");

        Assert.Equal("one", await served.SayAsync("x"));
        Assert.Equal(["a", "b"], await served.StreamAsync("Split", "x"));
        RpcException failed = await Assert.ThrowsAsync<RpcException>(() => served.StreamAsync("Join", "x"));
        Assert.Equal((RpcStatusCode.NotFound, "no such text"), (failed.Code, failed.Message));
        RpcException rest = await Assert.ThrowsAsync<RpcException>(() => served.StreamAsync("Chat", "x"));
        Assert.Equal(RpcStatusCode.Unimplemented, rest.Code);
        Assert.Contains(
            "Join failed: NotFound: no such text", served.Process.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Echo_answers_streams_of_all_kinds()
    {
        await using Served served = await Served.StartAsync(Grpc, "--echo", "--quiet");

        Assert.Equal("x", await served.SayAsync("x"));
        Assert.Equal(["x"], await served.StreamAsync("Split", "x"));
        Assert.Equal(["y"], await served.StreamAsync("Join", "x", "y"));
        Assert.Equal(["x", "y"], await served.StreamAsync("Chat", "x", "y"));
        Assert.DoesNotContain("calls", served.Process.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_request_that_json_cannot_have_is_answered_and_printed_by_its_size()
    {
        string folder = Directory.CreateTempSubdirectory("listen").FullName;
        string proto = Path.Combine(folder, "item.proto");
        await File.WriteAllTextAsync(
            proto,
            """
            syntax = "proto3";
            import "google/protobuf/timestamp.proto";
            message Item { google.protobuf.Timestamp at = 1; }
            service Shop { rpc Put (Item) returns (Item); }
            """);
        RpcSchema schema = RpcSchema.Load([proto]);
        // JSON has no time after the year 9999.
        byte[] late = [0x0A, 0x08, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
        await using ToolProcess process = await ToolProcess.StartAsync(
            new() { ["PATH"] = Environment.GetEnvironmentVariable("PATH")! },
            ["listen", Grpc, "--schema", proto, "--echo"]);
        using RpcClient client = RpcClient.Connect(
            process.Endpoints[0], schema, new RpcClientOptions { RetryCount = 0 });

        DynamicMessage reply = await client.InvokeAsync(
            "Put", DynamicMessage.Parse(schema.GetMessage("Item"), late));

        Assert.Equal(late, reply.ToByteArray());
        Assert.Contains(": 10 bytes of Item", process.Output, StringComparison.Ordinal);
        Directory.Delete(folder, recursive: true);
    }

    [Fact]
    public static async Task A_template_takes_values_of_the_call()
    {
        await using Served served = await Served.StartAsync(
            Grpc,
            "--template",
            "Say={\"text\":\"{{request.text}}|{{headers.tenant}}|{{method}}|{{call}}|{{headers.none}}\","
            + "\"payload\":\"{{request.payload}}\"}",
            "--template", "Join={\"text\":\"{{count}} {{ request.text }}\"}",
            "--template", "Chat=[{\"text\":\"{{request.text}}\"},{\"text\":\"again {{count}}\"}]");
        RpcCallOptions options = new() { Headers = new() };
        options.Headers.Add("tenant", "T");

        Assert.Equal("x|T|streams.Words/Say|1|", await served.SayAsync("x", options));
        Assert.Equal(["2 y"], await served.StreamAsync("Join", "x", "y"));
        Assert.Equal(["x", "again 1", "y", "again 2"], await served.StreamAsync("Chat", "x", "y"));
    }

    [Theory]
    [InlineData("\",\"payload\":\"AAAA")]
    [InlineData("{{uuid}} {{request}} }} {{")]
    [InlineData("\\u0022 \n \u001B[31m \uFFFD")]
    public static async Task No_request_writes_json_or_placeholders_into_a_reply(string text)
    {
        await using Served served = await Served.StartAsync(
            Grpc, "--template", "Say={\"text\":\"{{request.text}}\"}", "--template",
            "Join={\"text\":\"<{{request.text}}>\"}");

        Assert.Equal(text, await served.SayAsync(text));
        Assert.Equal([$"<{text}>"], await served.StreamAsync("Join", text));
        Assert.DoesNotContain('\u001B', served.Process.Output);
    }

    [Fact]
    public static async Task A_template_that_multiplies_a_request_ends_at_the_limit()
    {
        string many = string.Concat(Enumerable.Repeat("{{request.text}}", 1000));
        await using Served served = await Served.StartAsync(
            Grpc, "--template", $"Say={{\"text\":\"{many}\"}}", "--quiet");

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => served.SayAsync(new string('x', 1_000_000)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal(1000, (await served.SayAsync("x")).Length);
    }

    [Fact]
    public static async Task A_folder_has_a_file_for_each_method()
    {
        using TemporaryFolder folder = new();
        folder.Write("streams.Words.Say.json", "{\"text\":\"json\"}");
        folder.Write("streams.Words/Split.json", "{\"text\":\"a\"} {\"text\":\"b\"}");
        folder.Write("Join.template.json", "{\"text\":\"{{count}}\"}");
        folder.Write("Words.Chat.txtpb", "text: 'text'");
        folder.Write("README.md", "notes");
        await using Served served = await Served.StartAsync(Grpc, "--reply-dir", folder.Path);

        Assert.Equal("json", await served.SayAsync("x"));
        Assert.Equal(["a", "b"], await served.StreamAsync("Split", "x"));
        Assert.Equal(["2"], await served.StreamAsync("Join", "x", "y"));
        Assert.Equal(["text"], await served.StreamAsync("Chat", "x"));
    }

    [Theory]
    [InlineData(2, "which is not served", "--reply", "Nothing={}")]
    [InlineData(1, "this is not JSON", "--reply", "Say={")]
    [InlineData(1, "no field 'Text'", "--reply", "Say={\"Text\":\"a\"}")]
    [InlineData(1, "this is not JSON", "--reply", "Split=[{},]")]
    [InlineData(1, "nothing", "--reply", "Say={\"nothing\":1}")]
    [InlineData(1, "2 replies", "--reply", "Say={} {}")]
    [InlineData(2, "has two replies", "--reply", "Say={}", "--reply", "Words/Say={}")]
    [InlineData(2, "both answer every call", "--reply", "{}", "--echo")]
    [InlineData(2, "is not the status of a failure", "--fail", "Say=SOMETIMES")]
    [InlineData(2, "is not the status of a failure", "--fail", "Say=OK")]
    [InlineData(2, "no field 'txt'", "--template", "Say={\"text\":\"{{request.txt}}\"}")]
    [InlineData(2, "which is unknown", "--template", "Say={\"text\":\"{{env.HOME}}\"}")]
    [InlineData(2, "without an end", "--template", "Say={\"text\":\"{{request.text\"}")]
    [InlineData(2, "is not JSON", "--template", "Say={{request}")]
    [InlineData(2, "is not a folder", "--reply-dir", "/nothing/here")]
    [InlineData(2, "--handler-timeout must be more than 0", "--handler-timeout", "0")]
    [InlineData(2, "--handler-timeout must be seconds (2.5)", "--handler-timeout", "1,5")]
    [InlineData(2, "--exec-limit must be from 1", "--exec", "cat", "--exec-limit", "0")]
    public static async Task What_makes_no_sense_is_an_error_at_once(
        int code, string why, params string[] arguments)
    {
        (int exit, _, string error) = await ToolProcess.RunAsync(
            new() { ["PATH"] = Environment.GetEnvironmentVariable("PATH")! },
            ["listen", Grpc, "--schema", Schema, "--service", "streams.Words", .. arguments]);

        Assert.Contains(why, error, StringComparison.Ordinal);
        Assert.Equal(code, exit);
        Assert.Single(error.TrimEnd('\n').Split('\n'));
    }

    [Fact]
    public static async Task A_file_for_no_method_is_an_error_that_names_it()
    {
        using TemporaryFolder folder = new();
        folder.Write("Sya.json", "{}");

        (int exit, _, string error) = await ToolProcess.RunAsync(
            null, "listen", Grpc, "--schema", Schema, "--service", "streams.Words", "--reply-dir",
            folder.Path);

        Assert.Equal(2, exit);
        Assert.Contains("Sya.json", error, StringComparison.Ordinal);
        Assert.Contains("streams.Words/Say", error, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task An_access_log_has_every_call()
    {
        using TemporaryFolder folder = new();
        string log = Path.Combine(folder.Path, "access.jsonl");
        await using (Served served = await Served.StartAsync(
            Grpc, "--reply", "Say={\"text\":\"one\"}", "--access-log", log))
        {
            await served.SayAsync("x");
            await Assert.ThrowsAsync<RpcException>(() => served.StreamAsync("Chat", "x"));
        }

        string[] lines = await File.ReadAllLinesAsync(log);
        Assert.Contains("\"status\":\"OK\"", lines[0], StringComparison.Ordinal);
        Assert.Contains("\"status\":\"Unimplemented\"", lines[1], StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_mock_answers_in_order_and_counts_its_calls()
    {
        ToolProcess process = await ToolProcess.StartAsync(
            null, "mock", Grpc, "--schema", Schema, "--service", "streams.Words",
            "--reply", "Say={\"text\":\"one\"}", "--fail", "Say=UNAVAILABLE: later",
            "--reply", "Split=[{\"text\":\"a\"},{\"text\":\"b\"}]", "--latency", "0.01");
        using (RpcClient client = RpcClient.Connect(
            process.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words", RetryCount = 0 }))
        {
            Assert.Equal("one", WordsServer.TextOf(await client.InvokeAsync("Say", WordsServer.Text("x"))));
            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Say", WordsServer.Text("x")));
            Assert.Equal((RpcStatusCode.Unavailable, "later"), (error.Code, error.Message));
        }

        await process.DisposeAsync();
        Assert.Contains("streams.Words/Say: 2 calls", process.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_mock_plays_back_what_a_listener_recorded()
    {
        using TemporaryFolder folder = new();
        string record = Path.Combine(folder.Path, "calls.jsonl");
        await using (Served served = await Served.StartAsync(
            Grpc, "--template", "Say={\"text\":\"{{request.text}} {{call}}\"}",
            "--reply", "Split=[{\"text\":\"a\"},{\"text\":\"b\"}]", "--fail", "Join=NOT_FOUND: no such text",
            "--record", record))
        {
            await served.SayAsync("one");
            await served.SayAsync("two");
            await served.StreamAsync("Split", "x");
            await served.TryStreamAsync("Join", "x");
        }

        await using Served mock = await Served.StartMockAsync(Grpc, "--replay", record);

        Assert.Equal("two 2", await mock.SayAsync("two"));
        Assert.Equal("one 1", await mock.SayAsync("one"));
        Assert.Equal(["a", "b"], await mock.StreamAsync("Split", "x"));
        RpcException failed = await Assert.ThrowsAsync<RpcException>(() => mock.StreamAsync("Join", "x"));
        Assert.Equal((RpcStatusCode.NotFound, "no such text"), (failed.Code, failed.Message));
    }

    [Theory]
    [InlineData("not a record")]
    [InlineData("{\"method\":\"streams.Words/Nothing\"}")]
    public static async Task A_file_that_no_listener_recorded_is_an_error_that_names_it(string content)
    {
        using TemporaryFolder folder = new();
        folder.Write("calls.jsonl", content);
        string path = Path.Combine(folder.Path, "calls.jsonl");

        (int exit, _, string error) = await ToolProcess.RunAsync(
            null, "mock", Grpc, "--schema", Schema, "--replay", path);

        Assert.Equal(1, exit);
        Assert.Contains("calls.jsonl", error, StringComparison.Ordinal);
    }

    private sealed class TemporaryFolder : IDisposable
    {
        public string Path { get; } = Directory.CreateTempSubdirectory("protorpc-").FullName;

        public void Write(string name, string text)
        {
            string path = System.IO.Path.Combine(Path, name);
            Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
            File.WriteAllText(path, text);
        }

        public void Dispose() => Directory.Delete(Path, recursive: true);
    }
}
