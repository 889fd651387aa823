using System.Collections.Concurrent;
using System.Text.Json;
using Google.Protobuf;
using ProtoRpc.Tests.Client.InProcess;
using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

/// <summary><c>protorpc bench</c>.</summary>
public static class BenchVerbTests
{
    private static readonly string Sample = Path.Combine(ToolRun.Protos, "sample.proto");

    [Fact]
    public static async Task Prints_calls_and_latencies_and_ends_with_0()
    {
        int got = 0;
        await using RpcServer server = Serve(_ => Interlocked.Increment(ref got));

        ToolRun run = await BenchAsync(
            server, "Send", "-d", "{\"message\":\"abc\"}", "--count", "40", "--concurrency", "3",
            "--histogram");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Equal(40, got);
        string[] lines = run.Output.Split('\n');
        Assert.Equal($"{server.Endpoints[0]} Sample.MyService/Send", lines[0]);
        Assert.StartsWith("  Load      3 callers, 1 connection", lines[1], StringComparison.Ordinal);
        Assert.StartsWith("  Calls     40, 0 failed, ", lines[2], StringComparison.Ordinal);
        Assert.Contains("p50 ", run.Output, StringComparison.Ordinal);
        Assert.Contains("p99.9 ", run.Output, StringComparison.Ordinal);
        Assert.Contains("###", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Prints_json_for_programs()
    {
        await using RpcServer server = Serve(_ => { });

        ToolRun run = await BenchAsync(
            server, "Send", "--random", "--seed", "5", "--duration", "0.2", "--warmup", "0", "--rate", "100",
            "--connections", "2", "--format", "json");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        JsonElement result = JsonDocument.Parse(run.Output).RootElement;
        Assert.Equal(20, Number("succeeded") + Number("notSent"));
        Assert.Equal(100, result.GetProperty("rate").GetDouble());
        Assert.Equal(2, result.GetProperty("connections").GetInt32());
        JsonElement latency = result.GetProperty("latencyMilliseconds");
        Assert.True(latency.GetProperty("p99.9").GetDouble() >= latency.GetProperty("p50").GetDouble());

        long Number(string name) => result.GetProperty(name).GetInt64();
    }

    [Fact]
    public static async Task Several_endpoints_are_called_in_turns_and_each_has_its_result()
    {
        int first = 0;
        int second = 0;
        await using RpcServer one = Serve(_ => Interlocked.Increment(ref first));
        await using RpcServer two = Serve(_ => Interlocked.Increment(ref second));
        string[] load = ["Send", "-d", "{\"message\":\"\"}", "-n", "30", "--endpoint", $"{two.Endpoints[0]}"];

        ToolRun text = await BenchAsync(one, load);
        ToolRun json = await BenchAsync(one, [.. load, "--format", "json"]);

        Assert.Equal(("", 0, "", 0), (text.Error, text.ExitCode, json.Error, json.ExitCode));
        Assert.Equal((60, 60), (first, second));
        Assert.Contains($"{one.Endpoints[0]} Sample.MyService/Send\n", text.Output, StringComparison.Ordinal);
        Assert.Contains($"{two.Endpoints[0]} Sample.MyService/Send\n", text.Output, StringComparison.Ordinal);
        Assert.Equal(
            [($"{one.Endpoints[0]}", 30), ($"{two.Endpoints[0]}", 30)],
            JsonDocument.Parse(json.Output).RootElement.EnumerateArray().Select(result =>
                (result.GetProperty("endpoint").GetString()!, result.GetProperty("calls").GetInt32())));
    }

    [Fact]
    public static async Task A_message_of_standard_input_goes_to_all_endpoints()
    {
        int first = 0;
        int second = 0;
        await using RpcServer one = Serve(_ => Interlocked.Increment(ref first));
        await using RpcServer two = Serve(_ => Interlocked.Increment(ref second));
        using StringWriter output = new();
        using StringWriter error = new();

        int code = await ToolCommand.RunAsync(
            [
                "bench", $"{one.Endpoints[0]}", "Send", "-d", "-", "-n", "5", "--schema", Sample,
                "--endpoint", $"{two.Endpoints[0]}",
            ],
            new ToolConsole(new StringReader("{\"message\":\"a\"}"), output, error));

        Assert.Equal(("", 0), (error.ToString(), code));
        Assert.Equal((5, 5), (first, second));
    }

    [Fact]
    public static async Task A_run_that_is_stopped_prints_what_there_is_and_ends_with_130()
    {
        using CancellationTokenSource stop = new();
        int calls = 0;
        await using RpcServer server = Serve(_ =>
        {
            if (Interlocked.Increment(ref calls) == 10)
            {
                stop.CancelAfter(100);
            }
        });
        using StringWriter output = new();
        using StringWriter error = new();

        int code = await ToolCommand.RunAsync(
            [
                "bench", $"{server.Endpoints[0]}", "Send", "-d", "{\"message\":\"\"}", "--schema", Sample,
                "--duration", "60",
            ],
            new ToolConsole(TextReader.Null, output, error), stop.Token);

        Assert.Equal(("", 130), (error.ToString(), code));
        Assert.Contains("The test was cancelled.", output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public static async Task An_endpoint_that_is_not_there_ends_the_run_with_its_status()
    {
        await using RpcServer server = Serve(_ => { });
        string absent = $"ncalrpc:[NobodyIsHere{Guid.NewGuid():N}]";

        ToolRun run = await BenchAsync(
            server, "Send", "-d", "{\"message\":\"\"}", "-n", "5", "--endpoint", absent);

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, run.ExitCode);
        Assert.Contains(absent, run.Error, StringComparison.Ordinal);
        Assert.Empty(run.Output);
    }

    [Fact]
    public static async Task Calls_that_fail_give_the_exit_code_of_their_status()
    {
        int calls = 0;
        await using RpcServer server = Serve(_ =>
        {
            if (Interlocked.Increment(ref calls) % 2 == 0)
            {
                throw new RpcException(RpcStatusCode.Aborted, "not now");
            }
        });

        ToolRun run = await BenchAsync(server, "Send", "-d", "{\"message\":\"\"}", "-n", "20");

        Assert.Equal(64 + (int)RpcStatusCode.Aborted, run.ExitCode);
        Assert.Contains("Failed    10 Aborted, first: not now", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Headers_go_with_each_call()
    {
        int got = 0;
        await using RpcServer server = RpcServer.Create(RpcSchema.Load([Sample]))
            .Handle("Send", (context, _) =>
            {
                got += context.RequestHeaders.GetText("tenant") == "a:b" ? 1 : 0;
                return ValueTask.FromResult<IMessage>(new DynamicMessage(context.Method.ReplyType));
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

        ToolRun run = await BenchAsync(
            server, "Send", "-d", "{\"message\":\"\"}", "-n", "5", "-c", "1", "-H", "Tenant: a:b");

        Assert.Equal((0, 5), (run.ExitCode, got));
    }

    [Theory]
    [InlineData("Join", "[{\"text\":\"a\"},{\"text\":\"b\"}]", "Sent      6 messages")]
    [InlineData("Split", "{\"text\":\"a b c\"}", "Received  9 messages")]
    public static async Task Streams_are_measured_and_the_schema_may_come_from_the_server(
        string method, string json, string line)
    {
        using TalkServer server = new();

        ToolRun run = await ToolRun.RunAsync(
            "bench", $"{server.Endpoint}", method, "-d", json, "-n", "3", "-c", "1");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Contains(line, run.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{\"message\":\"a\"} {\"message\":\"b\"}", "a a b b")]
    [InlineData("[{\"message\":\"a\"}, {\"message\":\"b\"}, {\"message\":\"c\"}]", "a a b c")]
    [InlineData("{\"message\":\"call {{n}}\"}", "call 1 call 2 call 3 call 4")]
    [InlineData("{\"message\":\"{{n}}\"} {\"message\":\"b\"}", "1 3 b b")]
    public static async Task Several_requests_are_sent_in_turn_and_placeholders_differ_per_call(
        string json, string sent)
    {
        ConcurrentQueue<string> got = new();
        await using RpcServer server = Serve(request => got.Enqueue((string)request["message"]!));

        ToolRun run = await BenchAsync(server, "Send", "-d", json, "-n", "4");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Equal(sent, string.Join(' ', got.Order()));
    }

    [Fact]
    public static async Task Ids_and_times_differ_per_call()
    {
        ConcurrentQueue<string> got = new();
        await using RpcServer server = Serve(request => got.Enqueue((string)request["message"]!));

        ToolRun run = await BenchAsync(
            server, "Send", "-d", "{\"message\":\"{{uuid}} {{now}}\"}", "-n", "3", "-c", "1");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Equal(3, got.Distinct().Count());
        Assert.All(got, text => Assert.True(
            Guid.TryParse(text.Split(' ')[0], out _) && DateTime.TryParse(text.Split(' ')[1], out _)));
    }

    [Theory]
    [InlineData("[{\"text\":\"a\"}] [{\"text\":\"b\"},{\"text\":\"c\"}]", "Sent      6 messages")]
    [InlineData("[{\"text\":\"a {{n}}\"},{\"text\":\"b\"}]", "Sent      8 messages")]
    public static async Task Arrays_are_the_messages_of_several_calls_of_a_stream(string json, string line)
    {
        using TalkServer server = new();

        ToolRun run = await ToolRun.RunAsync(
            "bench", $"{server.Endpoint}", "Join", "-d", json, "-n", "4", "-c", "1");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Contains(line, run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Times_take_units()
    {
        await using RpcServer server = Serve(_ => { });

        ToolRun run = await BenchAsync(
            server, "Send", "-d", "{\"message\":\"\"}", "--duration", "50ms", "--warmup", "1ms", "--max-time",
            "1m");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
    }

    [Fact]
    public static async Task A_message_may_be_repeated_in_a_stream()
    {
        using TalkServer server = new();

        ToolRun run = await ToolRun.RunAsync(
            "bench", $"{server.Endpoint}", "Join", "-d", "{\"text\":\"a\"}", "-n", "2",
            "--stream-length", "50");

        Assert.Equal(("", 0), (run.Error, run.ExitCode));
        Assert.Contains("Sent      100 messages", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_server_that_is_not_there_ends_with_its_status()
    {
        ToolRun run = await ToolRun.RunAsync(
            "bench", $"ncalrpc:[NobodyIsHere{Guid.NewGuid():N}]", "Send", "--schema", Sample,
            "-d", "{\"message\":\"\"}");

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, run.ExitCode);
        Assert.Empty(run.Output);
    }

    [Theory]
    [InlineData(2, "--duration must be from 0", "--duration", "-1")]
    [InlineData(2, "--duration must be seconds (2.5), or a time such as 50ms", "--duration", "1,5")]
    [InlineData(2, "placeholder '{{x}}', which is unknown", "-d", "{\"message\":\"{{x}}\"}")]
    [InlineData(2, "placeholder without an end", "-d", "{\"message\":\"{{n\"}")]
    [InlineData(1, "message must be set", "-d", "{\"message\":\"{{n}}\"} {}")]
    [InlineData(2, "--message has no request", "-d", "[]")]
    [InlineData(2, "Give the request with --data: bench ENDPOINT METHOD -d", "{\"message\":\"\"}")]
    [InlineData(2, "--warmup must be from 0", "--warmup", "100000")]
    [InlineData(2, "--connections must be from 1", "--connections", "0")]
    [InlineData(2, "--connections must be from 1", "--connections", "11")]
    [InlineData(2, "--header 'x' has no name", "-H", "x")]
    [InlineData(2, "--tls cannot be used with", "--tls")]
    [InlineData(2, "not with both", "--random", "-d", "{}")]
    [InlineData(2, "has none", "--stream-length", "3")]
    [InlineData(1, "--message: MyRequest: this is not JSON", "-d", "{")]
    [InlineData(1, "no field 'Message'", "-d", "{\"Message\":\"\"}")]
    [InlineData(2, "'xml'", "--format", "xml")]
    [InlineData(1, "message must be set", "-d", "{}")]
    [InlineData(1, "--rate is 0. It must be ", "--rate", "0", "-d", "{\"message\":\"\"}")]
    [InlineData(2, "--concurrency must be 1", "-c", "0")]
    [InlineData(1, "--count is 0. It must be ", "--count", "0", "-d", "{\"message\":\"\"}")]
    [InlineData(1, "--max-errors is -1. ", "--max-errors", "-1", "-d", "{\"message\":\"\"}")]
    [InlineData(1, "--max-size is -1. ", "--random", "--max-size", "-1")]
    [InlineData(2, "There is no option '--warm-up'. Did you mean '--warmup'?", "--warm-up", "0")]
    [InlineData(2, "There is no option '--jsn'. ", "--jsn")]
    public static async Task What_makes_no_sense_is_an_error_before_anything_is_called(
        int code, string why, params string[] arguments)
    {
        int got = 0;
        await using RpcServer server = Serve(_ => Interlocked.Increment(ref got));

        ToolRun run = await BenchAsync(server, ["Send", .. arguments]);

        Assert.Contains(why, run.Error, StringComparison.Ordinal);
        Assert.Equal((code, 0), (run.ExitCode, got));
        Assert.Single(run.Error.TrimEnd('\n').Split('\n'));
    }

    private static Task<ToolRun> BenchAsync(RpcServer server, params string[] arguments) => ToolRun.RunAsync(
        ["bench", $"{server.Endpoints[0]}", .. arguments, "--schema", Sample]);

    private static RpcServer Serve(Action<DynamicMessage> handler) =>
        RpcServer.Create(RpcSchema.Load([Sample]))
            .Handle("Send", (context, request) =>
            {
                handler((DynamicMessage)request);
                return ValueTask.FromResult<IMessage>(new DynamicMessage(context.Method.ReplyType));
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
}
