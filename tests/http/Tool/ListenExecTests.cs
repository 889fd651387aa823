namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc listen --exec</c>: a program for each call.</summary>
public static class ListenExecTests
{
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    [Theory]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("ncacn_ip_tcp:127.0.0.1[0]")]
    public static async Task A_program_reads_the_request_and_writes_the_reply(string endpoint)
    {
        using HandlerScript script = new("cat");
        await using Served served = await Served.StartAsync(endpoint, "--exec", script.Path);

        Assert.Equal("a \"b\" \u00E4\n", await served.SayAsync("a \"b\" \u00E4\n"));
    }

    [Fact]
    public static async Task Method_headers_and_caller_are_in_its_environment()
    {
        using HandlerScript script = new(
            """
            printf '{"text":"%s|%s|%s|%s"}' "$PROTORPC_METHOD" "$PROTORPC_SERVICE" \
              "$PROTORPC_HEADER_TENANT_ID" "${PROTORPC_DEADLINE:+late}"
            """);
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);
        RpcCallOptions options = new() { Headers = new() };
        options.Headers.Add("tenant-id", "$(id) `id` ;x");

        string text = await served.SayAsync("", options);

        Assert.Equal("streams.Words/Say|streams.Words|$(id) `id` ;x|late", text);
    }

    [Fact]
    public static async Task No_header_sets_a_variable_of_another_name()
    {
        using HandlerScript script = new(
            """
            env | grep -i -e tenant -e '^LD_PRELOAD' -e '^METHOD=' | sort | tr '\n"' '|.' > "$0.env"
            printf '{}'; echo >> "$0.env"
            """);
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);
        RpcCallOptions options = new() { Headers = new() };
        options.Headers.Add("tenant_id", "false");
        options.Headers.Add("tenant.id", "false");
        options.Headers.Add("tenant-id", "true");
        options.Headers.Add("ld_preload", "x.so");
        options.Headers.Add("method", "other");

        await served.SayAsync("", options);

        string[] variables = (await script.ReadAsync("handler.env")).Trim().Split('|');
        Assert.Equal(
            ["PROTORPC_HEADER_TENANT_ID=true"],
            variables.Where(one => !one.StartsWith("PROTORPC_HEADERS=", StringComparison.Ordinal)
                && one.Length > 0));
    }

    [Theory]
    [InlineData(new string[0], "|", false)]
    [InlineData(new[] { "--exec-env", "SHOP_DATABASE", "--exec-env", "MODE=a=b" }, "db|a=b", false)]
    [InlineData(new[] { "--exec-authorization" }, "|", true)]
    public static async Task Secrets_of_listener_and_caller_are_passed_only_where_that_is_asked(
        string[] options, string variables, bool hasToken)
    {
        using HandlerScript script = new(
            """
            printf '%s|%s|%s\n' "$SHOP_DATABASE" "$MODE" "$(env | tr '\n' ' ')" > "$0.env"
            printf '{}'
            """);
        await using Served served = await Served.StartWithAsync(
            new() { ["SHOP_DATABASE"] = "db", ["SHOP_PASSWORD"] = "secret", ["HOME"] = "/home/shop" },
            "grpc://127.0.0.1:0", ["--exec", script.Path, .. options]);
        RpcCallOptions call = new() { Headers = new() };
        call.Headers.Add("Authorization", "Bearer callers-token");
        call.Headers.Add("Proxy-Authorization", "Basic callers-token");
        call.Headers.Add("tenant", "a");

        await served.SayAsync("", call);

        string all = await script.ReadAsync("handler.env");
        Assert.StartsWith(variables + "|", all, StringComparison.Ordinal);
        Assert.Contains("HOME=/home/shop ", all, StringComparison.Ordinal);
        Assert.Contains("PATH=", all, StringComparison.Ordinal);
        Assert.Contains("PROTORPC_HEADER_TENANT=a ", all, StringComparison.Ordinal);
        Assert.DoesNotContain("SHOP_PASSWORD", all, StringComparison.Ordinal);
        Assert.DoesNotContain("DOTNET_CLI", all, StringComparison.Ordinal);
        Assert.Equal(hasToken, all.Contains("callers-token", StringComparison.Ordinal));
        Assert.Equal(hasToken, all.Contains("PROTORPC_HEADER_AUTHORIZATION=", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("SHOP_NOTHING", "SHOP_NOTHING")]
    [InlineData("=x", "must be NAME or NAME=VALUE")]
    public static async Task A_variable_that_is_not_there_is_an_error_at_once(string given, string why)
    {
        (int code, _, string error) = await ToolProcess.RunAsync(
            new() { ["PATH"] = Environment.GetEnvironmentVariable("PATH")! },
            "listen", "grpc://127.0.0.1:0", "--schema", Schema, "--exec", "cat", "--exec-env", given);

        Assert.Equal(2, code);
        Assert.Contains(why, error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("echo 'no such page' >&2; exit 5", RpcStatusCode.NotFound, "no such page")]
    [InlineData("exit 7", RpcStatusCode.PermissionDenied, "exit code 7")]
    [InlineData("exit 16", RpcStatusCode.Unauthenticated, "exit code 16")]
    [InlineData("exit 1", RpcStatusCode.Unknown, "exit code 1")]
    [InlineData("exit 69", RpcStatusCode.NotFound, "exit code 69")]
    [InlineData("exit 40", RpcStatusCode.Unknown, "exit code 40")]
    [InlineData("kill -9 $$", RpcStatusCode.Internal, "signal 9")]
    [InlineData("echo '{\"text\":'", RpcStatusCode.Internal, "did not write a streams.Text")]
    [InlineData("echo '{\"nothing\":1}'", RpcStatusCode.Internal, "nothing")]
    [InlineData("echo '[]'", RpcStatusCode.Internal, "did not write a streams.Text")]
    [InlineData("head -c 5000000 /dev/zero", RpcStatusCode.ResourceExhausted, "more than 4194304 bytes")]
    [InlineData("yes", RpcStatusCode.ResourceExhausted, "more than 4194304 bytes")]
    [InlineData("yes >&2", RpcStatusCode.DeadlineExceeded, "")]
    [InlineData("sleep 60", RpcStatusCode.DeadlineExceeded, "")]
    [InlineData("exec sleep 60 >&- 2>&-", RpcStatusCode.DeadlineExceeded, "")]
    public static async Task Exit_code_and_output_decide_the_status(
        string text, RpcStatusCode status, string message)
    {
        using HandlerScript script = new(text);
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);

        TimeSpan timeout = status == RpcStatusCode.DeadlineExceeded ? TimeSpan.FromSeconds(2) : Limit;
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => served.SayAsync("x", new() { Timeout = timeout }));

        Assert.Equal(status, error.Code);
        Assert.Contains(message, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("exit 0", "")]
    [InlineData("exec <&-; echo '{\"text\":\"deaf\"}'", "deaf")]
    [InlineData("echo '{\"text\":\"first\"}'; cat > /dev/null", "first")]
    public static async Task A_program_need_not_read_or_write(string text, string reply)
    {
        using HandlerScript script = new(text);
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);

        Assert.Equal(reply, await served.SayAsync(new string('x', 1_000_000)));
    }

    [Fact]
    public static async Task A_child_that_holds_the_output_open_does_not_hold_the_call()
    {
        using HandlerScript script = new("(echo $(exec sh -c 'echo $PPID') > $0.child; sleep 300) & read x");
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => served.SayAsync("x"));

        Assert.Contains("keeps its output open", error.Message, StringComparison.Ordinal);
        await script.RequireEndedAsync("handler.child");
    }

    [Fact]
    public static async Task Standard_error_is_kept_within_bounds()
    {
        using HandlerScript script = new(
            "head -c 3000000 /dev/zero | tr '\\0' 'e' >&2; echo last >&2; exit 9");
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => served.SayAsync("x"));

        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
        Assert.EndsWith("last", error.Message, StringComparison.Ordinal);
        Assert.InRange(error.Message.Length, 1000, 2048);
    }

    [Fact]
    public static async Task A_caller_that_leaves_ends_the_program_and_its_children()
    {
        using HandlerScript script = new(
            "echo $$ > $0.parent; (echo $(exec sh -c 'echo $PPID') > $0.child; sleep 300); sleep 300");
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);
        using CancellationTokenSource leave = new();
        Task<string> call = served.SayAsync("x", cancellation: leave.Token);
        await script.ReadAsync("handler.child");

        await leave.CancelAsync();

        await Assert.ThrowsAnyAsync<Exception>(() => call);
        await script.RequireEndedAsync("handler.parent");
        await script.RequireEndedAsync("handler.child");
    }

    [Fact]
    public static async Task A_call_over_the_limit_of_programs_waits_for_a_free_one()
    {
        using HandlerScript script = new(
            """
            mkdir "$0.lock" || { echo 'two at once' >&2; exit 10; }
            read line; rmdir "$0.lock"; printf '%s' "$line"
            """);
        await using Served served = await Served.StartAsync(
            "grpc://127.0.0.1:0", "--exec", script.Path, "--exec-limit", "1");

        string[] texts = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => served.SayAsync($"{i}")));

        Assert.Equal(["0", "1", "2", "3", "4", "5", "6", "7"], texts);
    }

    [Fact]
    public static async Task Streams_are_lines_both_ways()
    {
        using HandlerScript script = new(
            """
            case $PROTORPC_METHOD in
              */Split) printf '{"text":"a"}\n\n{"text":"b"}'; exit 0 ;;
              */Join) n=0; while read -r line; do n=$((n + 1)); done; echo "{\"text\":\"$n\"}" ;;
              */Chat) while read -r line; do echo "$line"; done; echo 'enough' >&2; exit 11 ;;
            esac
            """);
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);

        Assert.Equal(["a", "b"], await served.StreamAsync("Split", "x"));
        Assert.Equal(["3"], await served.StreamAsync("Join", "x", "y", "z"));
        (List<string> replies, RpcException? error) = await served.TryStreamAsync("Chat", "one", "two");
        Assert.Equal(["one", "two"], replies);
        Assert.Equal((RpcStatusCode.OutOfRange, "enough"), (error?.Code, error?.Message));
    }

    [Fact]
    public static async Task A_program_may_end_before_the_requests_do()
    {
        using HandlerScript script = new("read -r line; echo \"$line\"");
        await using Served served = await Served.StartAsync("grpc://127.0.0.1:0", "--exec", script.Path);
        await using RpcStreamingCall call = await served.Client.OpenAsync("Chat");

        await call.SendAsync(WordsServer.Text("first"));

        Assert.Equal("first", await call.ReadAsync() ? WordsServer.TextOf(call.Current) : null);
        Assert.False(await call.ReadAsync());
    }

    [Theory]
    [InlineData("there is no program", "./nothing-here")]
    [InlineData("on PATH", "nothing-here-either")]
    [InlineData("is not executable", "STREAMS")]
    [InlineData("quote without an end", "cat 'x")]
    [InlineData("names no program", "  ")]
    [InlineData("which is not served", "Nothing=cat")]
    [InlineData("which can be", "Say=cat")]
    public static async Task A_program_that_cannot_be_run_is_an_error_at_once(string why, string command)
    {
        (int code, _, string error) = await ToolProcess.RunAsync(
            new() { ["PATH"] = Environment.GetEnvironmentVariable("PATH")! },
            "listen", "grpc://127.0.0.1:0", "--schema", Schema,
            "--exec", command.Replace("STREAMS", Schema, StringComparison.Ordinal));

        Assert.Equal(2, code);
        Assert.Contains(why, error, StringComparison.Ordinal);
    }
}
