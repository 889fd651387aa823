using System.Net;
using System.Text;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>What clients repeat of the answers of servers that are too busy.</summary>
public static class BusyServerRetryTests
{
    private const string OfHandler =
        """{"code": "resource_exhausted", "error_text": "no more orders today"}""";

    [Theory]
    [InlineData("http", "text/html", "slow down")]
    [InlineData("http", "application/json", """{"message": "slow down"}""")]
    [InlineData("grpc", "text/html", "slow down")]
    public static async Task A_429_of_a_proxy_is_repeated(string scheme, string type, string body)
    {
        Answers answers = new(() => Answer(429, type, body));

        RpcException error = await CallAsync(scheme, answers, retries: 2);

        Assert.Equal((3, false), (answers.Count, error.MayHaveExecuted));
    }

    [Theory]
    [InlineData(429, "application/json", OfHandler)]
    [InlineData(429, "application/json", """{"code": "resource_exhausted", "message": "of Connect"}""")]
    [InlineData(503, "text/html", "a proxy without servers")]
    [InlineData(503, "application/json", """{"code": "unavailable", "message": "of a handler"}""")]
    public static async Task What_a_handler_may_have_said_is_not_repeated(
        int status, string type, string body)
    {
        Answers answers = new(() => Answer(status, type, body, ("Retry-After", "0")));

        RpcException error = await CallAsync("http", answers, retries: 2);

        Assert.Equal((1, true), (answers.Count, error.MayHaveExecuted));
    }

    [Theory]
    [InlineData("3600")]
    [InlineData("Fri, 31 Dec 2199 23:59:59 GMT")]
    [InlineData("99999999999999999999")]
    [InlineData("-1")]
    [InlineData("soon")]
    public static async Task A_pause_that_is_too_long_or_malformed_neither_hangs_nor_throws_another_error(
        string pause)
    {
        Answers answers = new(() => Answer(429, "text/plain", "", ("Retry-After", pause)));

        RpcException error = await CallAsync("http", answers, retries: 1);

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.InRange(answers.Count, 1, 2);
    }

    [Fact]
    public static async Task A_busy_mark_after_replies_is_not_believed()
    {
        Answers answers = new(() => Grpc(replies: 1, ("protorpc-busy", "1")));

        RpcException error = await CallAsync("grpc", answers, retries: 2);

        Assert.Equal((1, true), (answers.Count, error.MayHaveExecuted));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("0")]
    [InlineData("1")]
    public static async Task A_marked_refusal_of_gRPC_is_repeated(string? pushback)
    {
        Answers answers = new(() => pushback is null
            ? Grpc(replies: 0, ("protorpc-busy", "1"))
            : Grpc(replies: 0, ("protorpc-busy", "1"), ("grpc-retry-pushback-ms", pushback)));

        RpcException error = await CallAsync("grpc", answers, retries: 2);

        Assert.Equal(
            (3, false, RpcStatusCode.ResourceExhausted), (answers.Count, error.MayHaveExecuted, error.Code));
    }

    // gRFC A6: a negative or malformed pushback asks for no retry. The call did not run all the same.
    [Theory]
    [InlineData("-5")]
    [InlineData("-2147483648")]
    [InlineData("x")]
    [InlineData("")]
    [InlineData("+1")]
    [InlineData("1.5")]
    [InlineData("1, 2")]
    [InlineData("99999999999999999999")]
    public static async Task A_marked_refusal_of_gRPC_that_asks_for_no_retry_is_not_repeated(string pushback)
    {
        Answers answers = new(
            () => Grpc(replies: 0, ("protorpc-busy", "1"), ("grpc-retry-pushback-ms", pushback)));

        RpcException error = await CallAsync("grpc", answers, retries: 2);

        Assert.Equal((1, false, 1), (answers.Count, error.MayHaveExecuted, error.Attempts));
    }

    [Fact]
    public static async Task A_refusal_of_gRPC_without_the_mark_is_not_repeated()
    {
        Answers answers = new(() => Grpc(replies: 0, ("grpc-retry-pushback-ms", "0")));

        RpcException error = await CallAsync("grpc", answers, retries: 2);

        Assert.Equal((1, true), (answers.Count, error.MayHaveExecuted));
    }

    private static async Task<RpcException> CallAsync(string scheme, Answers answers, int retries)
    {
        using RpcClient client = RpcClient.Connect(
            $"{scheme}://127.0.0.1:1", SearchServer.Schema,
            new() { Lazy = true, RetryCount = retries, HttpHandler = () => answers });
        return await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Search", new { query = "x" }).WaitAsync(TimeSpan.FromSeconds(20)));
    }

    private static HttpResponseMessage Answer(
        int status, string type, string body, params (string Name, string Value)[] headers)
    {
        HttpResponseMessage answer = new((HttpStatusCode)status)
        {
            Content = new StringContent(body, Encoding.UTF8, type),
        };
        foreach ((string name, string value) in headers)
        {
            answer.Headers.TryAddWithoutValidation(name, value);
        }

        return answer;
    }

    private static HttpResponseMessage Grpc(int replies, params (string Name, string Value)[] trailers)
    {
        HttpResponseMessage answer = new(HttpStatusCode.OK)
        {
            Version = HttpVersion.Version20,
            Content = new ByteArrayContent(new byte[5 * replies]),
        };
        answer.Content.Headers.ContentType = new("application/grpc");
        System.Net.Http.Headers.HttpHeaders end = replies > 0 ? answer.TrailingHeaders : answer.Headers;
        end.TryAddWithoutValidation("grpc-status", "8");
        foreach ((string name, string value) in trailers)
        {
            end.TryAddWithoutValidation(name, value);
        }

        return answer;
    }

    private sealed class Answers(Func<HttpResponseMessage> make) : HttpMessageHandler
    {
        public int Count { get; private set; }

        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            Count++;
            return Task.FromResult(make());
        }
    }
}
