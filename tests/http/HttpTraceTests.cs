using System.Collections.Concurrent;
using System.Net.Http.Headers;
using System.Security.Principal;

namespace ProtoRpc.Http.Tests;

/// <summary>The trace of HTTP and gRPC messages, on clients and servers.</summary>
public sealed class HttpTraceTests
{
    private readonly ConcurrentQueue<RpcTraceEntry> _client = new();
    private readonly ConcurrentQueue<RpcTraceEntry> _server = new();

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public async Task Has_heads_and_sizes_and_no_secret(string endpoint)
    {
        HttpServerOptions http = new()
        {
            AllowUnencrypted = true,
            Security = new HttpServerSecurity
            {
                Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                    token == "t0ken" ? new GenericIdentity("robot", "Bearer") : null),
            },
        };
        using (WordsServer server = new(endpoint, new() { Trace = RpcTrace.To(_server.Enqueue) }, http))
        {
            await using RpcClient client = server.Connect(new()
            {
                Lazy = true,
                Trace = RpcTrace.To(_client.Enqueue),
                Headers = new()
                {
                    { "authorization", "Bearer t0ken" }, { "cookie", "id=c00kie" }, { "x-tenant", "blue" },
                },
            });
            client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Text("card 4711"), new()
            {
                Headers = new() { { "raw-bin", "4711b1n"u8.ToArray() }, { "x-api-key", "k3y" } },
            });
            RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
                client.GetMethod("streams.Words/Say"), WordsServer.Text("a"), new()
                {
                    Headers = new() { { "authorization", "Bearer wr0ng" } },
                }));
            Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        }

        string[] sent = [.. _client.Where(entry => entry.IsSent).Select(entry => entry.Text)];
        string[] came = [.. _client.Where(entry => !entry.IsSent).Select(entry => entry.Text)];
        Assert.StartsWith("POST /streams.Words/Say HTTP/", sent[0]);
        Assert.Contains("; x-tenant: blue", sent[0]);
        Assert.Contains("; authorization: (12 characters)", sent[0], StringComparison.OrdinalIgnoreCase);
        Assert.Contains(came, text => text.StartsWith("HTTP/", StringComparison.Ordinal));
        Assert.Contains(
            _server,
            e => !e.IsSent && e.Text.StartsWith("POST /streams.Words/Say", StringComparison.Ordinal));
        Assert.Contains(_server, e => e.IsSent && e.Text.StartsWith("HTTP/", StringComparison.Ordinal));
        foreach (RpcTraceEntry entry in _client.Concat(_server))
        {
            foreach (string secret in new[] { "t0ken", "wr0ng", "c00kie", "k3y", "4711", "NDcxM" })
            {
                Assert.DoesNotContain(secret, entry.ToString());
            }
        }
    }

    [Fact]
    public async Task Has_the_messages_of_streams_and_the_trailers()
    {
        using WordsServer server = new();
        await using RpcClient client = server.Connect(new() { Trace = RpcTrace.To(_client.Enqueue) });

        RpcReplyInfo info = new();
        await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(
            "Split", WordsServer.Text("a b c"), new RpcCallOptions { ReplyInfo = info }))
        {
        }

        Assert.Equal(
            4, _client.Count(entry => entry.Text.StartsWith("message of ", StringComparison.Ordinal)));
        Assert.StartsWith("trailers; grpc-status: 0", _client.Last().Text);
        Assert.Equal((7, 9, 0), (info.BytesSent, info.BytesReceived, info.Retries));
    }

    [Fact]
    public async Task Leaves_out_a_query_that_is_a_message()
    {
        RpcServerOptions traced = new() { Trace = RpcTrace.To(_server.Enqueue) };
        using (WordsServer server = new("http://127.0.0.1:0/", traced))
        {
            using HttpClient http = new();
            http.DefaultRequestHeaders.Accept.Add(new MediaTypeWithQualityHeaderValue("application/json"));
            await http.GetAsync($"http://127.0.0.1:{server.Endpoint.Port}/streams.Words/Say?text=s3cret%0A");
        }

        Assert.All(_server, entry => Assert.DoesNotContain("s3cret", entry.Text));
        Assert.StartsWith("GET /streams.Words/Say?(14 characters) HTTP/1.1", _server.First().Text);
    }

    [Fact]
    public void Of_an_address_that_is_called_has_no_control_characters()
    {
        List<RpcTraceEntry> entries = [];
        RpcTrace.To(entries.Add).Add(isSent: true, RpcEndpoint.Parse("tcp://h:1"), "a\r\nb\u001b[2J\u202e");

        Assert.Equal("a\\u000D\\u000Ab\\u001B[2J\\u202E", Assert.Single(entries).Text);
    }
}
