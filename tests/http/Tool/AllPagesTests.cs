using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Http.Tests.Docs;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>Lists in pages, read to their end: by the client on each kind of endpoint, and by <c>protorpc
/// call --all</c>.</summary>
public sealed class AllPagesTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");
    private readonly RpcSchema _schema;
    private readonly RpcServer _server;

    public AllPagesTests()
    {
        string path = Path.Combine(_folder.FullName, "library.proto");
        File.WriteAllText(
            path,
            """
            syntax = "proto3";
            package library;
            message Book { string title = 1; }
            message ListRequest { string page_token = 1; int32 page_size = 2; }
            message ListBooksReply {
              repeated Book books = 1; string next_page_token = 2; repeated string unreachable = 3;
            }
            message ListNamesReply { repeated string names = 1; string next_page_token = 2; }
            service Library {
              rpc ListBooks (ListRequest) returns (ListBooksReply);
              rpc ListNames (ListRequest) returns (ListNamesReply);
              rpc ListCircle (ListRequest) returns (ListNamesReply);
              rpc Get (Book) returns (Book);
            }
            """);
        _schema = RpcSchema.Load([path]);
        _server = RpcServer.Create(_schema, "library.Library", new RpcServerOptions().WithHttp())
            .Handle("ListBooks", (_, request) => Page(request, "ListBooksReply", (page, next) => new
            {
                books = new[] { new { title = $"a{page}" }, new { title = $"b{page}" } },
                next_page_token = next,
                unreachable = page == 0 ? new[] { "eu" } : [],
            }))
            .Handle("ListNames", (_, request) => Page(request, "ListNamesReply", (page, next) => new
            {
                names = new[] { $"n{page}", "x\u001B[31m" },
                next_page_token = next,
            }))
            .Handle("ListCircle", (_, request) => Page(request, "ListNamesReply", (page, _) => new
            {
                names = new[] { $"c{page}" },
                next_page_token = "1",
            }))
            .AddEndpoint("grpc://127.0.0.1:0")
            .AddEndpoint("http://127.0.0.1:0")
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();
    }

    public void Dispose()
    {
        _server.StopAsync(TimeSpan.Zero).GetAwaiter().GetResult();
        _folder.Delete(recursive: true);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task The_code_of_the_page_writes_the_titles_of_all_pages(int endpoint)
    {
        await using RpcClient client = await RpcClient.ConnectAsync(_server.Endpoints[endpoint], _schema);

        string output = await ClientSamples.ListAsync(client);

        Assert.Equal(
            ["a0", "b0", "a1", "b1", "a2", "b2"],
            output.Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public async Task The_tool_writes_the_elements_of_all_pages()
    {
        ClientRun run = await ClientRun.RunAsync(["call", Address, "ListBooks", "--all", "--compact"]);

        Assert.Equal(0, run.Code);
        Assert.Equal(
            ["a0", "b0", "a1", "b1", "a2", "b2"],
            run.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(line => line.Replace("{\"title\":\"", "").Replace("\"}", "")));
        Assert.Equal("The list is not complete. The server could not reach eu.\n", run.Error);
    }

    [Fact]
    public async Task The_tool_writes_values_and_fields_as_text()
    {
        ClientRun names = await ClientRun.RunAsync(["call", Address, "ListNames", "--all"]);
        ClientRun titles = await ClientRun.RunAsync(
            ["call", Address, "ListBooks", "--all", "--field", "title"]);

        Assert.Equal((0, 0), (names.Code, titles.Code));
        Assert.StartsWith("n0\n", names.Output, StringComparison.Ordinal);
        Assert.Equal(6, names.Output.Count(c => c == '\n'));
        Assert.Equal("a0\nb0\na1\nb1\na2\nb2\n", titles.Output);
    }

    [Fact]
    public async Task The_tool_ends_a_list_without_end()
    {
        ClientRun run = await ClientRun.RunAsync(["call", Address, "ListCircle", "--all"]);

        Assert.NotEqual(0, run.Code);
        Assert.Equal("c0\nc1\n", run.Output);
        Assert.Contains("the same page token a second time", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_tool_refuses_a_method_without_pages()
    {
        ClientRun run = await ClientRun.RunAsync(["call", Address, "Get", "--all"]);

        Assert.NotEqual(0, run.Code);
        Assert.Contains(
            "its request library.Book has no string field page_token", run.Error, StringComparison.Ordinal);
    }

    private string Address => _server.Endpoints[0].ToString();

    private ValueTask<IMessage> Page(IMessage request, string reply, Func<int, string, object> page)
    {
        string token = (string)((DynamicMessage)request)["page_token"]!;
        int number = token.Length == 0 ? 0 : int.Parse(token, CultureInfo.InvariantCulture);
        return ValueTask.FromResult<IMessage>(new MessageMapper().ToMessage(
            _schema.GetMessage($"library.{reply}"), page(number, number < 2 ? $"{number + 1}" : "")));
    }
}
