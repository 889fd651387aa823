using System.Collections.Concurrent;
using System.Net.Http.Headers;
using System.Security.Principal;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>What a server writes of the calls over HTTP and gRPC.</summary>
public sealed class AccessLogTests
{
    private readonly ConcurrentQueue<RpcAccessLogEntry> _entries = new();

    private RpcServerOptions Logged => new() { AccessLog = RpcAccessLog.To(_entries.Enqueue) };

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public async Task Has_calls_and_streams_with_their_bytes(string endpoint)
    {
        using (WordsServer server = new(endpoint, Logged))
        {
            await using RpcClient client = server.Connect();
            client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Text("hello"));
            await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(
                "Split", WordsServer.Text("a b c")))
            {
            }
        }

        RpcAccessLogEntry[] calls =
            [.. _entries.Where(call => call.Method.StartsWith("streams.", StringComparison.Ordinal))];
        Assert.Equal(["streams.Words/Say", "streams.Words/Split"], calls.Select(call => call.Method));
        Assert.All(calls, call =>
        {
            Assert.Equal(RpcStatusCode.OK, call.Status);
            Assert.StartsWith("127.0.0.1:", call.Peer);
            Assert.Equal(call.Endpoint.Transport, call.Transport);
            Assert.Equal(7, call.BytesIn);
            Assert.True(call.BytesOut >= 7, $"{call.BytesOut} bytes went");
            Assert.True(call.Milliseconds > 0);
        });
    }

    [Theory]
    [InlineData("streams.Words/Nope", "streams.Words/Nope")]
    [InlineData("no.Such/Thing%0D%0Ax", "no.Such/Thing\\u000D\\u000Ax")]
    public async Task Has_methods_that_do_not_exist(string path, string called)
    {
        using (WordsServer server = new(
            "grpc://127.0.0.1:0", Logged, http: null, "http://127.0.0.1:0/"))
        {
            await server.PostAsync([0, 0, 0, 0, 0], $"/{path}");
            using HttpClient http = new();
            await http.PostAsync(
                $"http://127.0.0.1:{server.Server.Endpoints[1].Port}/{path}", new StringContent("{}"));
        }

        Assert.Equal(
            [(called, RpcTransport.Grpc, RpcStatusCode.Unimplemented),
                (called, RpcTransport.Http, RpcStatusCode.Unimplemented)],
            _entries.Select(call => (call.Method, call.Transport, call.Status)));
    }

    [Fact]
    public async Task Has_callers_who_are_not_known_and_never_what_they_present()
    {
        HttpServerOptions byToken = new()
        {
            AllowUnencrypted = true,
            Security = new HttpServerSecurity
            {
                Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                    token == "s3cret" ? new GenericIdentity("robot\nroot", "Bearer") : null),
                Basic = (_, _) => ValueTask.FromResult<IIdentity?>(null),
            },
        };
        string basic = Convert.ToBase64String(Encoding.UTF8.GetBytes("ann:passw0rd"));
        using (WordsServer server = new("grpc://127.0.0.1:0", Logged, byToken, "http://127.0.0.1:0/"))
        {
            using HttpClient http = new();
            foreach (string proof in new[] { "Bearer wr0ng", $"Basic {basic}", "Bearer s3cret" })
            {
                using HttpRequestMessage request = new(
                    HttpMethod.Post, $"http://127.0.0.1:{server.Server.Endpoints[1].Port}/streams.Words/Say")
                {
                    Content = new StringContent("{\"text\":\"x\"}", null, "application/json"),
                };
                request.Headers.Authorization = AuthenticationHeaderValue.Parse(proof);
                await http.SendAsync(request);
                await server.PostAsync([0, 0, 0, 0, 0], headers: ("authorization", proof));
            }
        }

        Assert.Equal(
            [
                RpcStatusCode.Unauthenticated, RpcStatusCode.Unauthenticated, RpcStatusCode.Unauthenticated,
                RpcStatusCode.Unauthenticated, RpcStatusCode.OK, RpcStatusCode.OK,
            ],
            _entries.Select(call => call.Status));
        Assert.Equal(["", "", "", "", "robot\\u000Aroot", "robot\\u000Aroot"], _entries.Select(c => c.User));
        Assert.All(_entries, call =>
        {
            foreach (string secret in new[] { "wr0ng", "s3cret", "passw0rd", basic })
            {
                Assert.DoesNotContain(secret, call.ToString());
            }
        });
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public async Task Has_requests_that_are_too_large(string endpoint)
    {
        RpcServerOptions small = Logged with { Limits = RpcLimits.Default with { MaxMessageBytes = 1000 } };
        using (WordsServer server = new(endpoint, small))
        {
            await using RpcClient client = server.Connect();
            Assert.Throws<RpcException>(
                () => client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Payload(5000)));
        }

        Assert.Equal(
            [("streams.Words/Say", RpcStatusCode.ResourceExhausted)],
            _entries.Select(call => (call.Method, call.Status)));
    }

    [Fact]
    public async Task Has_no_page_and_no_file()
    {
        using (WordsServer server = new("http://127.0.0.1:0/", Logged))
        {
            using HttpClient http = new();
            await http.GetStringAsync($"http://127.0.0.1:{server.Endpoint.Port}/");
        }

        Assert.Empty(_entries);
    }
}
