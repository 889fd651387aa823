using System.Collections.Concurrent;
using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Client.InProcess;

/// <summary>Lists in pages, against a server in this process.</summary>
public sealed class InvokeAllTests : IDisposable
{
    private readonly RpcMethodInfo _method = PagedMethodTests.MethodOf(
        "string page_token = 1; int32 page_size = 2;",
        "repeated Book books = 1; string next_page_token = 2;");

    private readonly ConcurrentQueue<string> _tokens = new();
    private readonly RpcServer _server;
    private readonly RpcClient _client;
    private Func<DynamicMessage, object> _reply = _ => new { };

    public InvokeAllTests()
    {
        RpcSchema schema = _method.Service.Schema;
        _server = RpcServer.Create(schema, "shop.Shop")
            .Handle("ListBooks", (_, request) =>
            {
                DynamicMessage asked = (DynamicMessage)request;
                _tokens.Enqueue((string)asked["page_token"]!);
                return ValueTask.FromResult<IMessage>(
                    new MessageMapper().ToMessage(_method.ReplyType, _reply(asked)));
            })
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();
        _client = RpcClient.Connect(_server.Endpoints[0], schema);
    }

    public void Dispose()
    {
        _client.Dispose();
        _server.StopAsync(TimeSpan.Zero).GetAwaiter().GetResult();
    }

    [Fact]
    public async Task Returns_the_elements_of_all_pages()
    {
        _reply = PageOf(last: 3, size: 2);

        List<object> books = await _client.InvokeAllAsync("ListBooks", new { page_size = 2 }).ToListAsync();

        Assert.Equal(
            ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"],
            books.Cast<DynamicMessage>().Select(book => book["title"]));
        Assert.Equal(["", "1", "2", "3"], _tokens);
    }

    [Fact]
    public async Task Calls_a_page_only_when_it_is_read()
    {
        _reply = PageOf(last: int.MaxValue, size: 2);

        await foreach (object _ in _client.InvokeAllAsync(_method, new { page_token = "5" }).Take(4))
        {
        }

        Assert.Equal(["5", "6"], _tokens);
    }

    [Fact]
    public async Task A_hundred_thousand_elements_come_one_after_the_other()
    {
        _reply = PageOf(last: 999, size: 100);

        Assert.Equal(100_000, await _client.InvokeAllAsync(_method, new { }).CountAsync());
        Assert.Equal(1000, _tokens.Count);
    }

    [Fact]
    public async Task A_token_that_repeats_ends_the_list_after_its_elements()
    {
        _reply = _ => new { books = new[] { new { title = "same" } }, next_page_token = "again" };
        List<object> books = [];

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (object book in _client.InvokeAllAsync(_method, new { }))
            {
                books.Add(book);
            }
        });

        Assert.Equal(RpcErrorIds.EndlessPages, error.ErrorId);
        Assert.Equal(2, books.Count);
    }

    [Fact]
    public async Task A_page_that_fails_ends_the_list_with_its_status()
    {
        Func<DynamicMessage, object> pages = PageOf(last: 3, size: 1);
        _reply = request => (string)request["page_token"]! == "2"
            ? throw new RpcException(RpcStatusCode.PermissionDenied, "No further.")
            : pages(request);
        List<object> books = [];

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (object book in _client.InvokeAllAsync(_method, new { }))
            {
                books.Add(book);
            }
        });

        Assert.Equal((RpcStatusCode.PermissionDenied, 2), (error.Code, books.Count));
    }

    [Fact]
    public async Task The_timeout_is_that_of_a_page_and_the_deadline_that_of_all()
    {
        _reply = PageOf(last: 3, size: 1);
        RpcCallOptions late = new() { Deadline = DateTimeOffset.UtcNow - TimeSpan.FromSeconds(1) };

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            async () => await _client.InvokeAllAsync(_method, new { }, late).CountAsync());
        RpcCallOptions options = new() { Timeout = TimeSpan.FromMinutes(1) };
        int count = await _client.InvokeAllAsync(_method, new { }, options).CountAsync();

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal(4, count);
    }

    [Fact]
    public void A_method_without_pages_is_refused_before_it_is_called()
    {
        RpcMethodInfo other = PagedMethodTests.MethodOf("int32 page_size = 1;", "repeated Book books = 1;");

        RpcException error = Assert.Throws<RpcException>(() => _client.InvokeAllAsync(other, new { }));

        Assert.Equal(RpcErrorIds.NotPaged, error.ErrorId);
        Assert.Empty(_tokens);
    }

    private static Func<DynamicMessage, object> PageOf(int last, int size) => request =>
    {
        string token = (string)request["page_token"]!;
        int page = token.Length == 0 ? 0 : int.Parse(token, CultureInfo.InvariantCulture);
        return new
        {
            books = Enumerable.Range(0, size).Select(i => new { title = $"{page}.{i}" }).ToArray(),
            next_page_token = page < last ? $"{page + 1}" : "",
        };
    };
}
