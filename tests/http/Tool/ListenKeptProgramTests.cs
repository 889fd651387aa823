namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc listen --exec-keep</c>: programs that answer one call after the other.</summary>
public static class ListenKeptProgramTests
{
    private const string Grpc = "grpc://127.0.0.1:0";

    // Replies with its process id, so that calls show which program answered them.
    private const string Ids =
        "while read -r line; do echo \"{\\\"reply\\\":{\\\"text\\\":\\\"$$\\\"}}\"; done";

    [Fact]
    public static async Task One_program_answers_call_after_call()
    {
        using HandlerScript script = new(Ids);
        await using Served served = await StartAsync(script, "--exec-limit", "1");

        string first = await served.SayAsync("a");

        Assert.Equal(first, await served.SayAsync("b"));
        Assert.Equal(first, await served.SayAsync("c"));
    }

    [Fact]
    public static async Task What_a_program_leaves_behind_ends_with_it_and_not_with_the_next_call()
    {
        using HandlerScript script = new(
            "read -r line; sleep 600 & echo $! > $0.child; echo '{\"reply\":{}}'");
        await using Served served = await StartAsync(script);

        await served.SayAsync("a");

        await script.RequireEndedAsync("handler.child");
    }

    [Fact]
    public static async Task A_call_is_a_line_with_method_headers_and_request()
    {
        using HandlerScript script = new(
            "read -r line; printf '%s\\n' \"$line\" > $0.line; echo '{\"id\":1,\"reply\":{}}'; read -r line");
        await using Served served = await StartAsync(script);
        RpcCallOptions options = new() { Headers = new() };
        options.Headers.Add("tenant", "a\"b");

        Assert.Equal("", await served.SayAsync("x\ny", options));

        System.Text.Json.JsonElement call = System.Text.Json.JsonDocument.Parse(
            await script.ReadAsync("handler.line")).RootElement;
        Assert.Equal(1, call.GetProperty("id").GetInt32());
        Assert.Equal("streams.Words/Say", call.GetProperty("method").GetString());
        Assert.Equal("a\"b", call.GetProperty("headers").GetProperty("tenant").GetString());
        Assert.Equal("x\ny", call.GetProperty("request").GetProperty("text").GetString());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task The_token_of_the_caller_is_in_the_line_only_where_that_is_asked(bool isAsked)
    {
        using HandlerScript script = new(
            "read -r line; printf '%s\\n' \"$line\" > $0.line; echo '{\"reply\":{}}'; read -r line");
        await using Served served = await StartAsync(script, isAsked ? ["--exec-authorization"] : []);
        RpcCallOptions options = new() { Headers = new() };
        options.Headers.Add("authorization", "Bearer callers-token");

        await served.SayAsync("x", options);

        string line = await script.ReadAsync("handler.line");
        Assert.Equal(isAsked, line.Contains("callers-token", StringComparison.Ordinal));
    }

    [Fact]
    public static async Task Streams_are_lines_with_an_end()
    {
        using HandlerScript script = new(
            """
            while read -r line; do
              case $line in
                *Words/Split*)
                  echo '{"reply":{"text":"a"}}'; echo '{"reply":{"text":"b"}}'; echo '{"end":true}' ;;
                *Words/*) n=0; kind=$line ;;
                *'"end":true'*) case $kind in
                  *Join*) echo "{\"reply\":{\"text\":\"$n\"}}" ;;
                  *) echo '{"status":"OUT_OF_RANGE","message":"enough"}' ;;
                  esac ;;
                *) n=$((n + 1)); case $kind in *Chat*) echo "{\"reply\":{\"text\":\"$n\"}}" ;; esac ;;
              esac
            done
            """);
        await using Served served = await StartAsync(script, "--exec-limit", "1");

        for (int i = 0; i < 2; i++)
        {
            Assert.Equal(["a", "b"], await served.StreamAsync("Split", "x"));
            Assert.Equal(["3"], await served.StreamAsync("Join", "x", "y", "z"));
            (List<string> replies, RpcException? error) = await served.TryStreamAsync("Chat", "x", "y");
            Assert.Equal(["1", "2"], replies);
            Assert.Equal((RpcStatusCode.OutOfRange, "enough"), (error?.Code, error?.Message));
        }
    }

    [Theory]
    [InlineData("exit 3", RpcStatusCode.Unavailable, "ended during the call")]
    [InlineData("read x; echo 'no license' >&2; exit 3", RpcStatusCode.Unavailable, "no license")]
    [InlineData("read x; echo 'hello'", RpcStatusCode.Internal, "not JSON")]
    [InlineData("read x; echo '[]'", RpcStatusCode.Internal, "not an object")]
    [InlineData("read x; echo '{}'", RpcStatusCode.Internal, "no 'reply'")]
    [InlineData("read x; echo '{\"end\":true}'", RpcStatusCode.Internal, "no 'reply'")]
    [InlineData("read x; echo '{\"id\":7,\"reply\":{}}'", RpcStatusCode.Internal, "its 'id'")]
    [InlineData("read x; echo '{\"id\":\"1\",\"reply\":{}}'", RpcStatusCode.Internal, "its 'id'")]
    [InlineData("read x; echo '{\"reply\":{\"no\":1}}'", RpcStatusCode.Internal, "no")]
    [InlineData("read x; echo '{\"status\":\"SOMETIMES\"}'", RpcStatusCode.Internal, "its 'status'")]
    [InlineData("yes | tr -d '\\n'", RpcStatusCode.ResourceExhausted, "more than 4194304 bytes")]
    [InlineData("read x; sleep 60", RpcStatusCode.DeadlineExceeded, "")]
    public static async Task What_is_no_answer_fails_the_call_and_the_next_gets_another_program(
        string text, RpcStatusCode status, string message)
    {
        // The first program is bad, and all others are good.
        using HandlerScript script = new($"if mkdir $0.lock 2>/dev/null; then {text}; exit 0; fi\n{Ids}");
        await using Served served = await StartAsync(script, "--exec-limit", "1");

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => served.SayAsync("x", new()
            {
                Timeout = TimeSpan.FromSeconds(
                status == RpcStatusCode.DeadlineExceeded ? 2 : 30)
            }));

        Assert.Equal(status, error.Code);
        Assert.Contains(message, error.Message, StringComparison.Ordinal);
        Assert.NotEqual("", await served.SayAsync("y"));
    }

    [Fact]
    public static async Task A_status_fails_the_call_and_the_program_stays()
    {
        using HandlerScript script = new(
            "while read -r x; do echo \"{\\\"status\\\":5,\\\"message\\\":\\\"$$\\\"}\"; done");
        await using Served served = await StartAsync(script, "--exec-limit", "1");

        RpcException first = await Assert.ThrowsAsync<RpcException>(() => served.SayAsync("x"));
        RpcException second = await Assert.ThrowsAsync<RpcException>(() => served.SayAsync("x"));

        Assert.Equal((RpcStatusCode.NotFound, first.Message), (second.Code, second.Message));
    }

    [Fact]
    public static async Task Programs_end_with_the_listener()
    {
        using HandlerScript script = new($"echo $$ > $0.pid\n{Ids}");
        Served served = await StartAsync(script);
        await served.SayAsync("a");

        await served.DisposeAsync();

        await script.RequireEndedAsync("handler.pid");
    }

    private static Task<Served> StartAsync(HandlerScript script, params string[] more) =>
        Served.StartAsync(Grpc, ["--exec-keep", script.Path, .. more]);
}
