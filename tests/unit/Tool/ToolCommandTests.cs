namespace ProtoRpc.Tests.Tool;

public static class ToolCommandTests
{
    private static readonly string Sample = Path.Combine(ToolRun.Protos, "sample.proto");

    [Theory]
    [InlineData("bogus")]
    [InlineData("list")]
    [InlineData("invoke", "tcp://127.0.0.1:1", "Send", "--schema", "x.proto", "--deadline", "0")]
    [InlineData("invoke", "tcp://127.0.0.1:1", "Send", "--schema", "x.proto", "--deadline", "soon")]
    [InlineData("invoke", "nonsense", "Send", "--schema", "x.proto")]
    [InlineData("export", "--schema", "x.proto", "-o", "")]
    [InlineData("listen", "local://x", "--schema", "x.proto", "--record", "")]
    [InlineData("listen", "local://x", "--schema", "x.proto", "--access-log", "")]
    [InlineData("mock", "local://x", "--schema", "x.proto", "--replay", "")]
    public static async Task A_wrong_command_line_ends_with_2_and_one_line(params string[] arguments)
    {
        ToolRun run = await ToolRun.RunAsync(arguments);

        Assert.Equal(2, run.ExitCode);
        Assert.Empty(run.Output);
        Assert.StartsWith("protorpc: ", run.Error, StringComparison.Ordinal);
        Assert.Single(run.Error.TrimEnd('\n').Split('\n'));
    }

    [Theory]
    [InlineData("There is no verb 'pnig'. Did you mean 'ping'?", "pnig", "grpc://127.0.0.1:1")]
    [InlineData("There is no verb 'invkoe'. Did you mean 'invoke'?", "invkoe", "a", "b", "-d", "{}")]
    [InlineData("'tcp://a:1' is an endpoint. Write a verb before it", "tcp://a:1", "Get")]
    [InlineData("There is no verb 'a\\u001B[31m'.", "a\u001b[31m")]
    [InlineData(
        "'GetOrder' is not an endpoint, and 'grpc://127.0.0.1:1' is one. The endpoint comes first: "
        + "protorpc call grpc://127.0.0.1:1 GetOrder", "call", "GetOrder", "grpc://127.0.0.1:1")]
    [InlineData("The endpoint comes first: protorpc bench tcp://a:1 Get", "bench", "Get", "tcp://a:1")]
    [InlineData("The endpoint comes first: protorpc describe tcp://a:1 a.B", "describe", "a.B", "tcp://a:1")]
    public static async Task A_wrong_word_is_named_with_the_right_one(
        string expected, params string[] arguments)
    {
        ToolRun run = await ToolRun.RunAsync(arguments);

        Assert.Equal(2, run.ExitCode);
        Assert.Contains(expected, run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_schema_that_is_not_there_ends_with_1_and_is_named()
    {
        ToolRun run = await ToolRun.RunAsync("list", "--schema", "no-such-file.proto");

        Assert.Equal(1, run.ExitCode);
        Assert.Contains("no-such-file.proto", run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("call", "local://x", "Send", "-d")]
    [InlineData("mock", "local://x", "--reply")]
    public static async Task A_file_of_a_message_that_is_not_there_is_named(params string[] arguments)
    {
        string value = arguments[^1] == "--reply" ? "Send=@no-such.json" : "@no-such.json";

        ToolRun run = await ToolRun.RunAsync([.. arguments, value, "--schema", Sample]);

        Assert.Equal(1, run.ExitCode);
        Assert.EndsWith(
            "no-such.json' of '@no-such.json' cannot be read: the file does not exist.\n", run.Error,
            StringComparison.Ordinal);
    }

    [Fact]
    public static async Task List_shows_services_and_methods()
    {
        ToolRun run = await ToolRun.RunAsync("list", "--schema", Sample);

        Assert.Equal("", run.Error);
        Assert.Equal(
            "Sample.MyService\n  rpc Send (Sample.MyRequest) returns (Sample.MyResponse);\n", run.Output);
    }

    [Fact]
    public static async Task A_schema_may_be_a_folder_or_a_server()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            File.Copy(Sample, Path.Combine(folder.FullName, "sample.proto"));
            Assert.Contains(
                "Sample.MyService", (await ToolRun.RunAsync("list", "--schema", folder.FullName)).Output,
                StringComparison.Ordinal);

            using ClosedPort closed = new();
            string nobody = $"grpc://127.0.0.1:{closed.Number}";
            ToolRun run = await ToolRun.RunAsync("list", "--schema", nobody);

            Assert.Equal(64 + (int)RpcStatusCode.Unavailable, run.ExitCode);
            Assert.Contains(nobody, run.Error, StringComparison.Ordinal);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static async Task Describe_shows_a_message_with_comments_as_a_proto_has_it()
    {
        ToolRun run = await ToolRun.RunAsync("describe", "MyRequest", "--schema", Sample);

        Assert.Equal(
            """
            // Sample.MyRequest

            // The message of a client.
            message MyRequest {
              // The text.
              required string message = 1;
            }

            """.ReplaceLineEndings("\n"),
            run.Output);
    }

    [Theory]
    [InlineData("Sample.MyService", "service MyService {")]
    [InlineData("MyService/Send", "rpc Send (MyRequest) returns (MyResponse);")]
    [InlineData("MyService/Send", "message MyResponse {")]
    [InlineData("Send", "message MyRequest {")]
    public static async Task Describe_finds_services_and_methods_by_name(string name, string line)
    {
        ToolRun run = await ToolRun.RunAsync("describe", name, "--schema", Sample);

        Assert.Contains(line, run.Output.Split('\n').Select(text => text.Trim()));
    }

    [Fact]
    public static async Task Describe_without_a_name_shows_the_files()
    {
        ToolRun run = await ToolRun.RunAsync("describe", "--schema", Sample);

        Assert.Equal(
            File.ReadAllText(Sample).ReplaceLineEndings("\n"), run.Output);
    }

    [Fact]
    public static async Task Describe_of_an_unknown_name_ends_with_1()
    {
        ToolRun run = await ToolRun.RunAsync("describe", "Nobody", "--schema", Sample);

        Assert.Equal(1, run.ExitCode);
        Assert.Contains("'Nobody'", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_demo_in_csharp_says_hello_over_three_transports()
    {
        ToolRun run = await ToolRun.RunAsync("demo", "--native");

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        string[] lines = run.Output.TrimEnd('\n').Split('\n');
        foreach (string transport in new[] { "LRPC", "TCP", "NP" })
        {
            Assert.Single(
                lines, line => line.EndsWith($" says: Hello via {transport}!", StringComparison.Ordinal));
        }
    }

    [Fact]
    public static async Task A_call_that_nobody_answers_ends_with_64_and_the_status()
    {
        ToolRun run = await ToolRun.RunAsync(
            "invoke", $"ncalrpc:[NobodyIsHere{Guid.NewGuid():N}]", "Send", "--schema", Sample,
            "--set", "message=x");

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, run.ExitCode);
    }

    [Fact]
    public static async Task A_misspelt_field_is_named_with_its_message_before_anything_is_sent()
    {
        ToolRun run = await ToolRun.RunAsync(
            "invoke", "ncalrpc:[NobodyIsHere]", "Send", "--schema", Sample, "--set", "mesage=x");

        Assert.Equal(1, run.ExitCode);
        Assert.Contains("mesage", run.Error, StringComparison.Ordinal);
        Assert.Contains("Sample.MyRequest", run.Error, StringComparison.Ordinal);
    }
}
