using System.Diagnostics;
using System.Text.RegularExpressions;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc call</c> against a gRPC server that tells its schema.</summary>
public sealed class CallVerbTests : IDisposable
{
    private readonly WordsServer _server = new();
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    private string Address => $"{_server.Endpoint.Host}:{_server.Endpoint.Port}";

    public void Dispose()
    {
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    [Theory]
    [InlineData("call", "Words/Say", "{\"text\":\"hi\"}\n")]
    [InlineData("invoke", "streams.Words/Say", "{\"text\":\"hi\"}\n")]
    [InlineData("call", "streams.Words.Split", "{\"text\":\"hi\"}\n")]
    [InlineData("call", "Words/Join", "{\"text\":\"hi\"}\n")]
    [InlineData("call", "Chat", "{\"text\":\"hi!\"}\n")]
    public async Task Calls_all_kinds_of_methods_by_reflection(string verb, string method, string output)
    {
        ClientRun run = await ClientRun.RunAsync(
            [verb, Address, "--plaintext", method, "-d", "{\"text\":\"hi\"}", "--compact"]);

        Assert.Equal(("", output, 0), (run.Error, run.Output, run.Code));
    }

    [Theory]
    [InlineData("@", "{\"text\":\"a\"}{\"text\":\"b\"} {\"text\":\"c\"}", "json")]
    [InlineData("@-", "text: \"a\"\u001Etext: \"b\"\u001Etext: \"c\"", "text")]
    [InlineData("-", "<r><text>a</text></r>\u001E<r><text>b</text></r>\u001E<r><text>c</text></r>", "xml")]
    [InlineData("@-", "\u0003\n\u0001a\u0003\n\u0001b\u0003\n\u0001c", "binary")]
    public async Task Standard_input_has_the_messages_of_a_stream(string source, string input, string format)
    {
        ClientRun run = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Join", "-d", source, "--format", format, "--compact"], input);

        Assert.Equal(("", 0), (run.Error, run.Code));
        string output = format == "binary" ? System.Text.Encoding.UTF8.GetString(run.Bytes) : run.Output;
        Assert.Contains("a b c", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("text")]
    [InlineData("xml")]
    [InlineData("binary")]
    [InlineData("json")]
    public async Task What_is_written_of_a_stream_is_read_as_a_stream(string format)
    {
        ClientRun split = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Split", "--set", "text=a b c", "--format", format]);
        string output = format == "binary"
            ? System.Text.Encoding.UTF8.GetString(split.Bytes)
            : split.Output;
        ClientRun join = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Join", "-d", "@", "--format", format], output);

        Assert.Equal(("", 0), (join.Error, join.Code));
        Assert.Contains(
            "a b c", join.Output + System.Text.Encoding.UTF8.GetString(join.Bytes), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_stream_is_sent_as_it_is_read_and_its_replies_are_written_as_they_come()
    {
        await using ClientRun run =
            ClientRun.Start("call", $"{_server.Endpoint}", "Chat", "-d", "@-", "--compact");

        await run.SendAsync("{\"text\":\"one\"}");
        await run.WaitForAsync("{\"text\":\"one!\"}\n");
        await run.SendAsync("{\"text\":\"two\"}");
        await run.WaitForAsync("{\"text\":\"two!\"}\n");
        run.EndInput();

        Assert.Equal(0, await run.EndAsync());
    }

    [Fact]
    public async Task The_end_of_a_call_does_not_wait_for_more_input()
    {
        await using ClientRun run = ClientRun.Start("call", $"{_server.Endpoint}", "Chat", "-d", "@-");

        await run.SendAsync("{\"text\":\"bye\"}");

        Assert.Equal(0, await run.EndAsync());
    }

    [Theory]
    [InlineData("Words/Say", "{\"text\":\"wait\"}", false)]
    [InlineData("Split", "{\"text\":\"a wait\"}", false)]
    [InlineData("Join", "{\"text\":\"a\"}", true)]
    public async Task Ctrl_C_ends_a_call_at_once_with_130(string method, string input, bool isOpen)
    {
        await using ClientRun run =
            ClientRun.Start("call", $"{_server.Endpoint}", method, "-d", "@-");
        await run.SendAsync(input);
        if (!isOpen)
        {
            run.EndInput();
        }

        await _server.Waiting.Task.WaitAsync(TimeSpan.FromSeconds(30));
        long start = Stopwatch.GetTimestamp();
        run.Stop();
        int code = await run.EndAsync();

        Assert.Equal(130, code);
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0, 10);
        Assert.Equal("protorpc: stopped.\n", run.Error);
    }

    [Theory]
    [InlineData("Chat", "{\"text\":\"a\"}\n{\"text\":}", "standard input", "line 2, column 9")]
    [InlineData("Words/Say", "{\"text\":\"a\"}\n  {\"nope\":1}", "standard input", "line 2, column")]
    [InlineData("Split", "{\"text\":\"a\"}\n{}", "takes one request", "streams.Words/Split")]
    public async Task Broken_input_ends_with_1_and_names_the_place(
        string method, string input, string what, string where)
    {
        ClientRun run =
            await ClientRun.RunAsync(["call", $"{_server.Endpoint}", method, "-d", "@-"], input);

        Assert.Equal(1, run.Code);
        Assert.Contains(what, run.Error, StringComparison.Ordinal);
        Assert.Contains(where, run.Error, StringComparison.Ordinal);
        Assert.Single(run.Error.TrimEnd('\n').Split('\n'));
    }

    [Fact]
    public async Task A_file_has_the_format_of_its_ending_and_unknown_fields_are_passed_over_if_asked()
    {
        string text = Path.Combine(_folder.FullName, "a.txtpb");
        await File.WriteAllTextAsync(text, "text: \"of a file\"");

        ClientRun run =
            await ClientRun.RunAsync(["call", $"{_server.Endpoint}", "Words/Say", "-d", $"@{text}"]);
        ClientRun unknown = await ClientRun.RunAsync(
            [
                "call", $"{_server.Endpoint}", "Words/Say", "-d", "{\"nope\":[1],\"text\":\"x\"}",
                "--allow-unknown-fields", "--emit-defaults", "--compact",
            ]);
        ClientRun missing =
            await ClientRun.RunAsync(["call", $"{_server.Endpoint}", "Chat", "-d", "@no-such.json"]);

        Assert.Contains("of a file", run.Output, StringComparison.Ordinal);
        Assert.Equal("{\"text\":\"x\",\"payload\":\"\"}\n", unknown.Output);
        Assert.Equal(1, missing.Code);
        Assert.Contains("no-such.json", missing.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Verbose_tells_headers_trailers_sizes_and_times_and_no_secrets()
    {
        ClientRun run = await ClientRun.RunAsync(
            [
                "call", $"{_server.Endpoint}", "Words/Say", "--set", "text=headers", "-H", "x-asked: ${WHO}",
                "--expand-headers", "--rpc-header", "x-asked-bin: AQI", "-H", "authorization: secret",
                "-H", "x-api-key: secret", "-vv",
            ],
            environment: new() { ["WHO"] = "me" });

        Assert.Equal(0, run.Code);
        string[] lines = run.Error.Split('\n');
        Assert.Contains($"> rpc streams.Words/Say at {_server.Endpoint}", lines);
        Assert.Contains("> x-asked: me", lines);
        Assert.Contains("> authorization: (not shown)", lines);
        Assert.Contains("> x-api-key: (not shown)", lines);
        Assert.Contains("< header x-first: me", lines);
        Assert.Contains(lines, line => line.StartsWith(
            "< header content-type: application/grpc", StringComparison.OrdinalIgnoreCase));
        Assert.Contains("< trailer x-last-bin: AQI=", lines);
        Assert.Contains(lines, line => Regex.IsMatch(line, "^= sent 1 message, 9 bytes; received 1 m"));
        Assert.Contains(lines, line => Regex.IsMatch(line, "^= schema .* ms, connect .* ms, first reply "));
    }

    [Fact]
    public async Task A_failed_call_ends_with_64_and_the_status_and_shows_its_details()
    {
        string[] call = ["call", $"{_server.Endpoint}", "Words/Say", "--set", "text=fail"];

        ClientRun run = await ClientRun.RunAsync(call);
        ClientRun terminal = await ClientRun.RunAsync(call, isTerminal: true);

        Assert.Equal(64 + (int)RpcStatusCode.NotFound, run.Code);
        Assert.Equal(
            """
            protorpc: NotFound: Kein Öl: 100 % leer
              {"@type":"type.googleapis.com/streams.Text","text":"a detail"}

            """.ReplaceLineEndings("\n"),
            run.Error);
        Assert.Contains("\u001B[31mNotFound: \u001B[0m", terminal.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Replies_and_errors_never_control_the_terminal()
    {
        const string Hostile = "\u001B]0;x\u0007\u009B31m\u202E";
        foreach (string format in new[] { "json", "text" })
        {
            ClientRun run = await ClientRun.RunAsync(
                ["call", $"{_server.Endpoint}", "Words/Say", "-d", "@", "--format", format],
                format == "json"
                    ? "{\"text\":\"\\u001b]0;x\\u0007\u009B31m\u202E\"}"
                    : "text: \"\\x1b]0;x\\x07\u009B31m\u202E\"",
                isTerminal: true);
            Assert.Equal(0, run.Code);
            Assert.DoesNotContain(run.Output, Hostile.Contains('\u001B') ? IsControl : _ => false);
        }

        static bool IsControl(char c) => c is '\u001B' or '\u0007' or '\u009B' or '\u202E';
    }

    [Fact]
    public async Task One_field_is_written_raw_or_as_text()
    {
        string[] call =
        [
            "call", $"{_server.Endpoint}", "Words/Say", "-d", "{\"text\":\"a\\nb\",\"payload\":\"AP8K\"}",
        ];

        ClientRun bytes = await ClientRun.RunAsync([.. call, "--field", "payload"]);
        ClientRun text = await ClientRun.RunAsync([.. call, "--field", "text"]);
        ClientRun stream = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Split", "--set", "text=a b c", "--field", "text"]);

        Assert.Equal(("00FF0A", "", 0), (Convert.ToHexString(bytes.Bytes), bytes.Output, bytes.Code));
        Assert.Equal(("a\nb\n", 0), (text.Output, text.Code));
        Assert.Equal(("a\nb\nc\n", 0), (stream.Output, stream.Code));
    }

    [Fact]
    public async Task A_call_is_printed_as_the_command_that_repeats_it()
    {
        string file = Path.Combine(_folder.FullName, "a.json");
        await File.WriteAllTextAsync(file, "{ \"text\": \"it's\" }");
        string to = $"{_server.Endpoint}";

        ClientRun one = await ClientRun.RunAsync(
            [
                "call", to, "Words/Say", "-d", $"@{file}", "--as-command", "--bearer", "hunter2",
                "-H", "x-api-key: hunter2", "-H", "tenant: a", "--compact",
            ]);
        ClientRun two = await ClientRun.RunAsync(
            ["call", to, "Join", "-d", "@-", "--as-command"], "{\"text\":\"a\"} {\"text\":\"b\"}");

        ClientRun literal = await ClientRun.RunAsync(
            ["call", to, "Words/Say", "-d", "{}", "--as-command", "-H", "authorization: Basic hunter2${x}"]);

        string quote = OperatingSystem.IsWindows() ? "''" : "'\\''";
        Assert.Equal(("", 0), (one.Error, one.Code));
        Assert.Equal(
            $"protorpc call {to} Words/Say --bearer env:TOKEN "
            + "--header 'x-api-key: ${SECRET}' --header 'tenant: a' --compact --expand-headers "
            + $"-d '{{\"text\":\"it{quote}s\"}}'\n",
            one.Output);
        Assert.DoesNotContain("hunter2", literal.Output, StringComparison.Ordinal);
        Assert.Contains(
            "'authorization: ${SECRET}' --expand-headers", literal.Output, StringComparison.Ordinal);
        Assert.Equal($"protorpc call {to} Join -d '{{\"text\":\"a\"}} {{\"text\":\"b\"}}'\n", two.Output);
    }

    [Theory]
    [InlineData("Give the request with --data: call ENDPOINT METHOD -d", "{\"text\":\"a\"}")]
    [InlineData("Give the request with --data", "@request.json")]
    [InlineData("Give the request with --set: call ENDPOINT METHOD --set NAME=VALUE", "text=a")]
    [InlineData("Binary replies would", "--field", "payload")]
    [InlineData("streams.Text has no field 'txt'. Did you mean 'text'?", "--field", "txt")]
    [InlineData("'text' has no fields", "--field", "text.inner")]
    [InlineData("--max-time must be seconds (2.5), or a time such as 50ms", "--max-time", "soon")]
    [InlineData("Binary replies would", "--format", "binary")]
    [InlineData("Leave out --format", "--as-command", "--format", "xml")]
    [InlineData("not with both", "--set", "text=x", "-d", "{}")]
    [InlineData("has no name", "--rpc-header", "x")]
    [InlineData("'NO_SUCH' of --header is not set", "-H", "a: ${NO_SUCH}", "--expand-headers")]
    [InlineData("--connect-timeout must be more than 0", "--connect-timeout", "0")]
    [InlineData("--max-msg-sz must be from 1", "--max-msg-sz", "0")]
    public async Task Options_that_cannot_be_ends_with_2(string text, params string[] options)
    {
        ClientRun run = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Words/Say", .. options], isTerminal: true);

        Assert.Equal(2, run.Code);
        Assert.Contains(text, run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Limits_of_time_and_size_hold()
    {
        ClientRun late = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Split", "--set", "text=a wait", "--max-time", "300ms"]);
        ClientRun large = await ClientRun.RunAsync(
            ["call", $"{_server.Endpoint}", "Words/Say", "--set", "text=aaaaaaaaaa", "--max-msg-sz", "10",
                "--schema", Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto")]);

        Assert.Equal(64 + (int)RpcStatusCode.DeadlineExceeded, late.Code);
        Assert.Equal(64 + (int)RpcStatusCode.ResourceExhausted, large.Code);
        Assert.Contains("--max-msg-sz", large.Error, StringComparison.Ordinal);
    }
}
