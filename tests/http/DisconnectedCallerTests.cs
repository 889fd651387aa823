using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Builder;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests;

/// <summary>Callers who reset their request while the server reads it. The read can fail before Kestrel
/// reports that the request is aborted.</summary>
public sealed class DisconnectedCallerTests
{
    private const int CallCount = 10;

    private readonly ConcurrentQueue<RpcAccessLogEntry> _entries = new();
    private readonly ConcurrentQueue<RpcFailedCall> _failures = new();

    private RpcServerOptions Observed => new()
    {
        AccessLog = RpcAccessLog.To(_entries.Enqueue),
        CallFailed = _failures.Enqueue,
    };

    [Fact]
    public async Task A_streaming_call_over_gRPC_is_cancelled()
    {
        using (WordsServer server = new("grpc://127.0.0.1:0", Observed))
        {
            for (int i = 0; i < CallCount; i++)
            {
                // A new connection: the second call must not wait for the reset of the first.
                await using RpcClient client = server.Connect();
                await using RpcStreamingCall call = await client.OpenAsync("Chat");
                await call.SendAsync(WordsServer.Text("hello"));
                Assert.True(await call.ReadAsync());
            }

            server.Server.RequireCounts(counts => counts.Errors == CallCount && counts.InFlight == 0);
        }

        RequireCancelled("streams.Words/Chat");
    }

    [Fact]
    public async Task A_streaming_call_of_an_application_is_cancelled()
    {
        await using (HostedApp app = await StartAsync())
        {
            for (int i = 0; i < CallCount; i++)
            {
                await using RpcClient client = RpcClient.Connect(
                    app.Grpc, RpcSchema.FromDescriptors(OrdersReflection.Descriptor));
                await using RpcStreamingCall<WatchRequest, OrderEvent> call =
                    await client.OpenAsync<WatchRequest, OrderEvent>("shop.Orders/Track");
                await call.SendAsync(new WatchRequest { Id = "a" });
                Assert.True(await call.ReadAsync());
            }

            app.Server.RequireCounts(counts => counts.Errors == CallCount && counts.InFlight == 0);
        }

        RequireCancelled("shop.Orders/Track");
    }

    [Fact]
    public async Task Reflection_that_its_caller_ends_is_cancelled()
    {
        using (WordsServer server = new("grpc://127.0.0.1:0", Observed))
        {
            for (int i = 0; i < CallCount; i++)
            {
                using CancellationTokenSource reset = new();
                using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
                using HttpRequestMessage request = PostOf(
                    $"http://{server.Endpoint.Host}:{server.Endpoint.Port}/"
                    + "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                    new HalfBody([0, 0, 0, 0, 2, 0x3a, 0], "application/grpc"));
                using HttpResponseMessage response = await http.SendAsync(
                    request, HttpCompletionOption.ResponseHeadersRead, reset.Token);
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                await reset.CancelAsync();
            }

            server.Server.RequireCounts(counts => counts.Errors == CallCount && counts.InFlight == 0);
        }

        RequireCancelled("grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    }

    [Theory]
    [InlineData("/shop.Orders/Place", "application/json", "")]
    [InlineData("/shop.Orders/Place", "application/json", "gzip")]
    [InlineData("/shop.Orders/Watch", "application/json", "")]
    [InlineData("/shop.Orders/Place", "application/grpc", "")]
    public async Task A_half_sent_request_is_cancelled(string path, string type, string encoding)
    {
        await using (HostedApp app = await StartAsync())
        {
            string address = app.Grpc.Replace("grpc://", "http://", StringComparison.Ordinal);
            for (int i = 0; i < CallCount; i++)
            {
                using CancellationTokenSource reset = new();
                using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
                HalfBody body = new(
                    encoding.Length > 0 ? [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]
                    : type == "application/grpc" ? [0, 0, 0, 0, 9, 1]
                    : "{\"order\":"u8.ToArray(), type);
                if (encoding.Length > 0)
                {
                    body.Headers.ContentEncoding.Add(encoding);
                }

                using HttpRequestMessage request = PostOf($"{address}{path}", body);
                Task<HttpResponseMessage> sending = http.SendAsync(request, reset.Token);
                await body.Sent.WaitAsync(TimeSpan.FromSeconds(20));
                app.Server.RequireCounts(counts => counts.InFlight == 1);
                await reset.CancelAsync();
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending);
                app.Server.RequireCounts(counts => counts.InFlight == 0);
            }
        }

        RequireCancelled(path[1..]);
    }

    private static HttpRequestMessage PostOf(string address, HttpContent content) =>
        new(HttpMethod.Post, address)
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = content,
        };

    private Task<HostedApp> StartAsync() => HostedApp.StartAsync(
        builder => builder.Services
            .AddProtoRpc(options => options.Server = options.Server with
            {
                AccessLog = Observed.AccessLog,
                CallFailed = Observed.CallFailed,
            })
            .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0]),
        map =>
        {
            // The token that Kestrel cancels too late is not cancelled at all.
            map.Use((http, next) =>
            {
                http.RequestAborted = CancellationToken.None;
                return next(http);
            });
            map.MapProtoRpc();
        });

    private void RequireCancelled(string method)
    {
        Assert.Empty(_failures.Select(failure => $"{failure.Code}: {failure.Error}"));
        Assert.Equal(
            Enumerable.Repeat((method, RpcStatusCode.Cancelled), CallCount),
            _entries.Where(entry => entry.Method == method).Select(entry => (entry.Method, entry.Status)));
    }

    /// <summary>The beginning of a body, whose rest is never sent.</summary>
    private sealed class HalfBody : HttpContent
    {
        private readonly byte[] _bytes;
        private readonly TaskCompletionSource _sent = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public HalfBody(byte[] bytes, string type)
        {
            _bytes = bytes;
            Headers.TryAddWithoutValidation("Content-Type", type);
        }

        public Task Sent => _sent.Task;

        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
            SerializeToStreamAsync(stream, context, CancellationToken.None);

        protected override async Task SerializeToStreamAsync(
            Stream stream, TransportContext? context, CancellationToken cancellationToken)
        {
            await stream.WriteAsync(_bytes, cancellationToken);
            await stream.FlushAsync(cancellationToken);
            _sent.SetResult();
            await Task.Delay(Timeout.Infinite, cancellationToken);
        }

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false;
        }
    }
}
