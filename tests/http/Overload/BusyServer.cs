using System.Collections.Concurrent;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>A server on one endpoint whose handlers take a known time, or run until the test says
/// so.</summary>
internal sealed class BusyServer : IDisposable
{
    private readonly RpcServer _server;
    private int _running;

    /// <param name="protocol">tcp, local, http, grpc or inproc.</param>
    /// <param name="limits">The limits.</param>
    /// <param name="work">The time of a call that works.</param>
    public BusyServer(string protocol, RpcLimits limits, TimeSpan work = default)
    {
        _server = RpcServer.Create(
            SearchServer.Schema, null, new RpcServerOptions { Limits = limits }.WithHttp())
            .Handle("Search", (context, request) => RunAsync(context, SearchServer.TextOf(request), work))
            .AddEndpoint(EndpointOf(protocol))
            .StartListening();
    }

    public static string[] AllFaces { get; } = ["tcp", "local", "http", "grpc", "inproc"];

    public RpcEndpoint Endpoint => _server.Endpoints[0];

    public RpcServerCounters Counters => _server.Counters;

    /// <summary>The most handlers that ran at the same time.</summary>
    public int MostRunning { get; private set; }

    /// <summary>What handlers were called with, in their order.</summary>
    public ConcurrentQueue<string> Begun { get; } = new();

    /// <summary>Ends the handlers that are held, one for each release.</summary>
    public SemaphoreSlim Gate { get; } = new(0);

    public RpcClient Connect(string? endpoint = null) => RpcClient.Connect(
        endpoint ?? Endpoint.Uri, SearchServer.Schema, new RpcClientOptions { RetryCount = 0 });

    /// <summary>Calls: "hold" runs until it is released, "stuck" also when it is cancelled, "work" takes the
    /// server's time, and everything else none.</summary>
    public static async Task<DynamicMessage> CallAsync(
        RpcClient client, string query, TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        await client.InvokeAsync(
            "Search", new { query }, new RpcCallOptions { Timeout = timeout ?? TimeSpan.FromSeconds(30) },
            cancellation);

    /// <summary>The status of a call.</summary>
    public static async Task<RpcStatusCode> StatusAsync(Task<DynamicMessage> call)
    {
        try
        {
            await call;
            return RpcStatusCode.OK;
        }
        catch (RpcException e)
        {
            return e.Code;
        }
    }

    /// <summary>Fails if something does not become true in half a minute.</summary>
    public static async Task UntilAsync(Func<bool> isSo, string what)
    {
        for (long end = Environment.TickCount64 + 30_000; !isSo(); await Task.Delay(5))
        {
            Assert.True(Environment.TickCount64 < end, $"Not so in time: {what}.");
        }
    }

    public void Dispose()
    {
        Gate.Release(10_000);
        _server.Dispose();
        Gate.Dispose();
    }

    private static string EndpointOf(string protocol) => protocol switch
    {
        "tcp" => "ncacn_ip_tcp:127.0.0.1[0]",
        "local" => $"ncalrpc:[overload-{Guid.NewGuid():N}]",
        "http" => "http://127.0.0.1:0/",
        "grpc" => "grpc://127.0.0.1:0",
        _ => $"inproc://overload-{Guid.NewGuid():N}",
    };

    private async ValueTask<Google.Protobuf.IMessage> RunAsync(
        RpcServerCallContext context, string query, TimeSpan work)
    {
        Begun.Enqueue(query);
        lock (Begun)
        {
            MostRunning = Math.Max(MostRunning, ++_running);
        }

        try
        {
            if (query.StartsWith("hold", StringComparison.Ordinal))
            {
                await Gate.WaitAsync(context.CancellationToken);
            }
            else if (query.StartsWith("stuck", StringComparison.Ordinal))
            {
                await Gate.WaitAsync(CancellationToken.None);
            }
            else if (query.StartsWith("work", StringComparison.Ordinal))
            {
                await Task.Delay(work, context.CancellationToken);
            }

            return SearchServer.Found(query.StartsWith("large", StringComparison.Ordinal)
                ? new string('x', 3_000_000)
                : query);
        }
        finally
        {
            lock (Begun)
            {
                _running--;
            }
        }
    }
}
