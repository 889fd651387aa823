using System.Diagnostics;
using System.Net;
using ProtoRpc.Http.Tests.Faults;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>What a server does with more calls than it may run: on every protocol the same.</summary>
public static class AdmissionTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string> Protocols => [.. BusyServer.AllFaces];

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task Calls_over_the_bounds_wait_or_are_refused_at_once(string protocol)
    {
        using BusyServer server = new(protocol, new RpcLimits { MaxConcurrentCalls = 2, MaxQueuedCalls = 3 });
        using RpcClient client = server.Connect();
        List<Task<DynamicMessage>> accepted = await FillAsync(server, client, running: 2, waiting: 3);

        List<TimeSpan> refusals = [];
        List<TimeSpan> pings = [];
        for (int i = 0; i < 21; i++)
        {
            long start = Stopwatch.GetTimestamp();
            await client.PingAsync();
            pings.Add(Stopwatch.GetElapsedTime(start));
            start = Stopwatch.GetTimestamp();
            RpcException refusal = await Assert.ThrowsAsync<RpcException>(
                () => BusyServer.CallAsync(client, "refused"));
            refusals.Add(Stopwatch.GetElapsedTime(start));
            Assert.Equal(RpcStatusCode.ResourceExhausted, refusal.Code);
            Assert.Contains("The server is too busy: 3 calls already wait for its 2", refusal.Message);
        }

        // The middle one, over what a busy machine adds to any call.
        Assert.InRange(
            refusals.Order().ElementAt(10).TotalMilliseconds,
            0, 10 + (2 * pings.Order().ElementAt(10).TotalMilliseconds));
        Assert.Equal((3, 21), (server.Counters.Queued, server.Counters.Refused));
        server.Gate.Release(5);
        await Task.WhenAll(accepted).WaitAsync(Patience);
        Assert.Equal(2, server.MostRunning);
        Assert.DoesNotContain("refused", server.Begun);
        await BusyServer.UntilAsync(() => server.Counters is { Queued: 0, InFlight: 0 }, "all have ended");
        Assert.NotNull(await BusyServer.CallAsync(client, "after"));
    }

    [Theory]
    [InlineData("tcp")]
    [InlineData("http")]
    [InlineData("grpc")]
    [InlineData("inproc")]
    public static async Task A_client_that_fills_the_queue_keeps_no_other_out(string protocol)
    {
        if (protocol is "tcp" or "http" && !OperatingSystem.IsLinux())
        {
            // Elsewhere this machine has no second address that is sure to be there.
            return;
        }

        using BusyServer server = new(protocol, new RpcLimits { MaxConcurrentCalls = 2, MaxQueuedCalls = 8 });
        using RpcClient greedy = server.Connect();
        using FaultRelay? relay = protocol is "tcp" or "http"
            ? new FaultRelay(
                new IPEndPoint(IPAddress.Loopback, server.Endpoint.Port),
                new IPEndPoint(IPAddress.Loopback, 0),
                new IPEndPoint(IPAddress.Parse("127.0.0.2"), 0))
            : null;
        using RpcClient small = server.Connect(relay is null
            ? null
            : server.Endpoint.Uri.Replace(
                $":{server.Endpoint.Port}", $":{relay.Port}", StringComparison.Ordinal));
        List<Task<DynamicMessage>> flood = await FillAsync(server, greedy, running: 2, waiting: 8);

        // It displaces the last call of the flood, and comes after one more of the others.
        Task<DynamicMessage> call = BusyServer.CallAsync(small, "hold-small");
        Task<DynamicMessage> displaced = await Task.WhenAny(flood).WaitAsync(Patience);
        Assert.Equal(RpcStatusCode.ResourceExhausted, await BusyServer.StatusAsync(displaced));
        server.Gate.Release(2);
        await BusyServer.UntilAsync(() => server.Begun.Count == 4, "two more run");
        Assert.Contains("hold-small", server.Begun);

        server.Gate.Release(8);
        await call.WaitAsync(Patience);
        RpcStatusCode[] ends = await Task.WhenAll(flood.Select(BusyServer.StatusAsync)).WaitAsync(Patience);
        Assert.Equal(9, ends.Count(end => end == RpcStatusCode.OK));
    }

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task A_call_that_is_given_up_no_longer_waits(string protocol)
    {
        using BusyServer server = new(protocol, new RpcLimits { MaxConcurrentCalls = 1, MaxQueuedCalls = 2 });
        using RpcClient client = server.Connect();
        await FillAsync(server, client, running: 1, waiting: 0);

        using CancellationTokenSource cancel = new();
        Task<DynamicMessage> cancelled = BusyServer.CallAsync(client, "cancelled", null, cancel.Token);
        Task<DynamicMessage> late = BusyServer.CallAsync(client, "late", TimeSpan.FromSeconds(2));
        await BusyServer.UntilAsync(() => server.Counters.Queued == 2, "two wait");
        await cancel.CancelAsync();

        await Assert.ThrowsAnyAsync<Exception>(() => cancelled.WaitAsync(Patience));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, await BusyServer.StatusAsync(late));
        await BusyServer.UntilAsync(() => server.Counters.Queued == 0, "none waits");
        server.Gate.Release();
        Assert.NotNull(await BusyServer.CallAsync(client, "next"));
        Assert.DoesNotContain("cancelled", server.Begun);
        Assert.DoesNotContain("late", server.Begun);
    }

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task A_call_waits_no_longer_than_it_may_for_handlers_that_never_end(string protocol)
    {
        using BusyServer server = new(protocol, new RpcLimits
        {
            MaxConcurrentCalls = 1,
            MaxQueueTime = TimeSpan.FromMilliseconds(200),
        });
        using RpcClient client = server.Connect();
        _ = BusyServer.CallAsync(client, "stuck");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "it is stuck");

        Assert.Equal(
            RpcStatusCode.ResourceExhausted,
            await BusyServer.StatusAsync(BusyServer.CallAsync(client, "waits")));
        Assert.Equal(0, server.Counters.Queued);

        // The server says how it is while it takes no calls.
        Assert.NotNull(await client.PingAsync());
        server.Gate.Release();
        await BusyServer.UntilAsync(() => server.Counters.InFlight == 0, "it has ended");
        Assert.NotNull(await BusyServer.CallAsync(client, "next"));
    }

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task Handlers_that_never_end_make_room_after_their_time(string protocol)
    {
        using BusyServer server = new(protocol, new RpcLimits
        {
            MaxConcurrentCalls = 2,
            HandlerTimeout = TimeSpan.FromMilliseconds(300),
        });
        using RpcClient client = server.Connect();

        Task<RpcStatusCode>[] held = [.. Enumerable.Range(0, 2).Select(
            _ => BusyServer.StatusAsync(BusyServer.CallAsync(client, "hold")))];
        Assert.All(
            await Task.WhenAll(held).WaitAsync(Patience),
            status => Assert.Equal(RpcStatusCode.DeadlineExceeded, status));

        Assert.NotNull(await BusyServer.CallAsync(client, "next"));
        Assert.Equal(0, server.Counters.Queued);
    }

    [Theory]
    [InlineData("http")]
    [InlineData("grpc")]
    public static async Task Who_sends_slowly_keeps_no_other_from_a_handler(string protocol)
    {
        // There is room for one that waits: a request that comes while another runs is refused without it.
        using BusyServer server = new(protocol, new RpcLimits { MaxConcurrentCalls = 1, MaxQueuedCalls = 1 });
        using RpcClient client = server.Connect();
        using SlowContent content = new(protocol == "grpc");
        using HttpClient http = NewHttp(server);
        Task<HttpResponseMessage> slow = http.SendAsync(Post(protocol, content));
        await content.Begun.Task.WaitAsync(Patience);
        await BusyServer.UntilAsync(() => server.Counters.InFlight == 1, "its head has come");

        Assert.NotNull(await BusyServer.CallAsync(client, "next"));

        content.Go.SetResult();
        using HttpResponseMessage response = await slow.WaitAsync(Patience);
        Assert.True(response.IsSuccessStatusCode);
        Assert.Equal(["next", "slow"], server.Begun);
    }

    [Theory]
    [InlineData("http")]
    [InlineData("grpc")]
    public static async Task Who_reads_slowly_keeps_no_other_from_a_handler(string protocol)
    {
        using BusyServer server = new(protocol, new RpcLimits { MaxConcurrentCalls = 1, MaxQueuedCalls = 0 });
        using RpcClient client = server.Connect();
        using SlowContent content = new(protocol == "grpc", "large");
        content.Go.SetResult();
        using HttpClient http = NewHttp(server);

        // The reply is larger than what the sockets and the window of the stream take.
        using HttpResponseMessage response = await http.SendAsync(
            Post(protocol, content), HttpCompletionOption.ResponseHeadersRead).WaitAsync(Patience);
        await BusyServer.UntilAsync(() => server.Begun.Contains("large"), "it has run");

        for (int i = 0; i < 5; i++)
        {
            Assert.NotNull(await BusyServer.CallAsync(client, "next"));
        }
    }

    // Calls that run and calls that wait, of one client.
    private static async Task<List<Task<DynamicMessage>>> FillAsync(
        BusyServer server, RpcClient client, int running, int waiting)
    {
        List<Task<DynamicMessage>> calls = [];
        for (int i = 0; i < running + waiting; i++)
        {
            calls.Add(BusyServer.CallAsync(client, $"hold-{i}"));
            await BusyServer.UntilAsync(
                () => server.Begun.Count == Math.Min(i + 1, running)
                    && server.Counters.Queued == Math.Max(0, i + 1 - running),
                $"{running} run and {waiting} wait");
        }

        return calls;
    }

    private static HttpClient NewHttp(BusyServer server) =>
        new(new SocketsHttpHandler { UseProxy = false, InitialHttp2StreamWindowSize = 65_535 })
        {
            BaseAddress = new Uri($"http://127.0.0.1:{server.Endpoint.Port}"),
        };

    private static HttpRequestMessage Post(string protocol, SlowContent content) =>
        new(HttpMethod.Post, "/ProtoService.SearchService/Search")
        {
            Content = content,
            Version = protocol == "grpc" ? HttpVersion.Version20 : HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };

    // A request whose end comes when the test says so.
    private sealed class SlowContent : HttpContent
    {
        private readonly byte[] _body;

        public SlowContent(bool isGrpc, string query = "slow")
        {
            byte[] message = SearchServer.Request(query);
            _body = isGrpc ? [0, 0, 0, 0, (byte)message.Length, .. message] : message;
            Headers.TryAddWithoutValidation(
                "Content-Type", isGrpc ? "application/grpc" : "application/x-protobuf");
        }

        public TaskCompletionSource Begun { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public TaskCompletionSource Go { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            await stream.WriteAsync(_body.AsMemory(0, 3));
            await stream.FlushAsync();
            Begun.TrySetResult();
            await Go.Task;
            await stream.WriteAsync(_body.AsMemory(3));
        }

        protected override bool TryComputeLength(out long length)
        {
            length = _body.Length;
            return true;
        }
    }
}
