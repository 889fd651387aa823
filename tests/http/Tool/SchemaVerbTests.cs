namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc list</c>, <c>describe</c> and <c>export</c> of servers.</summary>
public sealed class SchemaVerbTests : IDisposable
{
    private static readonly string Proto = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    private readonly WordsServer _server = new(further: ["http://127.0.0.1:0/", "tcp://127.0.0.1:0"]);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    private string Grpc => _server.Endpoint.ToString();

    private string Http => _server.Server.Endpoints[1].ToString();

    private string Native => _server.Server.Endpoints[2].ToString();

    public void Dispose()
    {
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task List_shows_what_a_server_tells_by_reflection()
    {
        ClientRun all = await ClientRun.RunAsync(["list", Grpc]);
        ClientRun names = await ClientRun.RunAsync(["list", Grpc, "--names"]);
        ClientRun methods = await ClientRun.RunAsync(["list", Grpc, "streams.Words", "--names"]);

        Assert.Contains(
            "streams.Words\n  rpc Say (streams.Text) returns (streams.Text);\n", all.Output,
            StringComparison.Ordinal);
        Assert.Contains("streams.Words", names.Output.Split('\n'));
        Assert.DoesNotContain("Silent", all.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("  rpc ", names.Output, StringComparison.Ordinal);
        Assert.Equal(
            "streams.Words/Say\nstreams.Words/Split\nstreams.Words/Join\nstreams.Words/Chat\n",
            methods.Output);
    }

    [Fact]
    public async Task Diff_compares_a_server_with_files()
    {
        string changed = Path.Combine(_folder.FullName, "streams.proto");
        await File.WriteAllTextAsync(
            changed,
            (await File.ReadAllTextAsync(Proto)).Replace("rpc Say ", "rpc Tell ", StringComparison.Ordinal));

        ClientRun same = await ClientRun.RunAsync(["diff", Grpc, Proto]);
        ClientRun other = await ClientRun.RunAsync(["diff", Grpc, changed]);
        ClientRun absent = await ClientRun.RunAsync(["diff", "grpc://127.0.0.1:1", changed]);

        Assert.Equal((0, "", ""), (same.Code, same.Output, same.Error));
        Assert.Equal(4, other.Code);
        Assert.Contains(
            "streams.proto:14:3 (old): MethodDeleted streams.Words/Say [wire, json, source]: The method Say "
            + "was deleted.", other.Output, StringComparison.Ordinal);
        Assert.InRange(absent.Code, 65, 80);
    }

    [Fact]
    public async Task A_broken_file_of_a_folder_is_a_warning_that_names_it()
    {
        File.Copy(Proto, Path.Combine(_folder.FullName, "streams.proto"));
        string bad = Path.Combine(_folder.FullName, "bad.proto");
        await File.WriteAllTextAsync(bad, "syntax = \"proto3\"; message {}");

        ClientRun list = await ClientRun.RunAsync(["list", "--schema", _folder.FullName, "--names"]);
        ClientRun call = await ClientRun.RunAsync(
            ["call", Http, "streams.Words/Say", "--schema", _folder.FullName, "--set", "text=hi"]);
        ClientRun missing = await ClientRun.RunAsync(
            ["describe", "--schema", _folder.FullName, "streams.Nothing"]);

        Assert.Equal(("streams.Words\nstreams.Silent\n", 0), (list.Output, list.Code));
        Assert.StartsWith($"protorpc: '{bad}' is left out", list.Error, StringComparison.Ordinal);
        Assert.Equal(0, call.Code);
        Assert.Contains("hi", call.Output, StringComparison.Ordinal);
        Assert.Contains(bad, call.Error, StringComparison.Ordinal);
        Assert.NotEqual(0, missing.Code);
    }

    [Fact]
    public async Task Options_of_an_import_that_nobody_has_are_left_out_with_a_warning()
    {
        string file = Path.Combine(_folder.FullName, "gogo.proto");
        await File.WriteAllTextAsync(
            file,
            "syntax = \"proto3\"; package g; import \"gogoproto/gogo.proto\"; option (gogoproto.a) = 1;\n"
            + "message M { int32 a = 1 [(gogoproto.b) = 1]; } service S { rpc Do(M) returns (M); }");

        ClientRun list = await ClientRun.RunAsync(["list", "--schema", file, "--names"]);

        Assert.Equal(("g.S\n", 0), (list.Output, list.Code));
        Assert.StartsWith(
            $"protorpc: {file}: The import 'gogoproto/gogo.proto' was not found.", list.Error,
            StringComparison.Ordinal);
        Assert.Contains("with --import-path", list.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task List_shows_the_services_of_servers_without_reflection()
    {
        foreach (string endpoint in new[] { Http, Native })
        {
            ClientRun names = await ClientRun.RunAsync(["list", endpoint]);
            ClientRun methods = await ClientRun.RunAsync(["list", endpoint, "streams.Words"]);
            ClientRun given = await ClientRun.RunAsync(
                ["list", endpoint, "streams.Words", "--schema", Proto, "--names"]);

            Assert.Equal(("", "streams.Words\n", 0), (names.Error, names.Output, names.Code));
            Assert.Equal(2, methods.Code);
            Assert.Contains("--schema", methods.Error, StringComparison.Ordinal);
            Assert.StartsWith("streams.Words/Say\n", given.Output, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("streams.Words", "service Words {")]
    [InlineData("streams.Words.Chat", "rpc Chat (stream Text) returns (stream Text);")]
    [InlineData(".streams.Text", "string text = 1;")]
    public async Task Describe_shows_elements_of_a_server(string symbol, string line)
    {
        ClientRun run = await ClientRun.RunAsync(["describe", Grpc, symbol]);

        Assert.Contains(line, run.Output.Split('\n').Select(text => text.Trim()));
    }

    [Fact]
    public async Task A_template_is_a_request_that_can_be_sent()
    {
        ClientRun template = await ClientRun.RunAsync(["describe", Grpc, "Words/Say", "--template"]);
        ClientRun call =
            await ClientRun.RunAsync(["call", Grpc, "Words/Say", "-d", "@"], template.Output);
        ClientRun service = await ClientRun.RunAsync(["describe", Grpc, "Words", "--template"]);

        Assert.Equal("{\n  \"text\": \"\",\n  \"payload\": \"\"\n}\n", template.Output);
        Assert.Equal(("", 0), (call.Error, call.Code));
        Assert.Equal(2, service.Code);
    }

    [Fact]
    public async Task Export_writes_files_that_are_a_schema()
    {
        string set = Path.Combine(_folder.FullName, "new", "words.protoset");
        string folder = Path.Combine(_folder.FullName, "protos");

        ClientRun ofSet = await ClientRun.RunAsync(["export", Grpc, "-o", set]);
        ClientRun ofFolder = await ClientRun.RunAsync(["export", Grpc, "streams.Words", "-o", folder]);
        ClientRun again = await ClientRun.RunAsync(["export", Grpc, "-o", set]);
        ClientRun forced = await ClientRun.RunAsync(["export", Grpc, "-o", set, "--force"]);
        ClientRun misnamed = await ClientRun.RunAsync(["export", Grpc, "-o", "x.proto"]);

        Assert.Equal((0, $"{set}\n"), (ofSet.Code, ofSet.Output));
        Assert.Equal(0, ofFolder.Code);
        foreach (string source in new[] { set, folder })
        {
            ClientRun listed = await ClientRun.RunAsync(["list", "--schema", source, "streams.Words"]);
            Assert.Contains("rpc Chat (stream", listed.Output, StringComparison.Ordinal);
        }

        Assert.Equal((1, 0, 2), (again.Code, forced.Code, misnamed.Code));
        Assert.Contains("--force", again.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("words.openapi.json")]
    [InlineData("words.json", "--openapi")]
    public async Task Export_writes_a_document_of_OpenAPI(string name, params string[] more)
    {
        string path = Path.Combine(_folder.FullName, name);

        ClientRun written = await ClientRun.RunAsync(["export", Grpc, "streams.Words", "-o", path, .. more]);
        ClientRun again = await ClientRun.RunAsync(["export", Grpc, "-o", path, .. more]);

        Assert.Equal((0, $"{path}\n", 1), (written.Code, written.Output, again.Code));
        Assert.StartsWith("{\n  \"openapi\": \"3.1", File.ReadAllText(path), StringComparison.Ordinal);
        Assert.Contains("\"/streams.Words/Say\"", File.ReadAllText(path), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Symbols_without_an_endpoint_are_looked_up_in_the_schema()
    {
        ClientRun symbol = await ClientRun.RunAsync(["describe", "--schema", Proto, "streams.Text"]);
        ClientRun neither = await ClientRun.RunAsync(["list"]);
        ClientRun native = await ClientRun.RunAsync(["describe", Native]);

        Assert.Contains("message Text {", symbol.Output, StringComparison.Ordinal);
        Assert.Equal((2, 2), (neither.Code, native.Code));
        Assert.Contains("--schema", neither.Error, StringComparison.Ordinal);
        Assert.Contains("--schema", native.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--plaintext is for servers without TLS", "grpcs://127.0.0.1:1", "--plaintext")]
    [InlineData("cannot be used with 'grpc://127.0.0.1:1'", "127.0.0.1:1", "--plaintext", "--insecure")]
    public async Task Plaintext_and_TLS_exclude_each_other(string text, params string[] arguments)
    {
        ClientRun run = await ClientRun.RunAsync(["list", .. arguments]);

        Assert.Equal(2, run.Code);
        Assert.Contains(text, run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_without_plaintext_is_called_over_TLS_and_the_error_says_so()
    {
        string address = $"127.0.0.1:{_server.Endpoint.Port}";

        ClientRun run = await ClientRun.RunAsync(["list", address]);

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, run.Code);
        Assert.Contains("without TLS", run.Error, StringComparison.Ordinal);
    }
}
