using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A service behind a network that harms its conversations at their octets. A call ends with one
/// answer or one error, it runs once at most, and the listener goes on.</summary>
internal sealed class FaultTrial : IDisposable
{
    // Of a call that waits for octets which do not come.
    private static readonly TimeSpan Deadline = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly ConcurrentDictionary<string, int> _runs = new();
    private readonly HashSet<string> _asked = [];
    private readonly FaultSetup _setup;
    private readonly RpcServer _server;
    private readonly RpcClient _direct;
    private readonly FaultRelay _relay;
    private readonly RpcEndpoint _through;
    private readonly string? _socket;
    private string _failure = "";

    public FaultTrial(FaultSetup setup)
    {
        _setup = setup;
        _server = RpcServer.Create(SearchServer.Schema, null, setup.Server.WithHttp())
            .Handle("Search", (_, request) =>
            {
                string query = SearchServer.TextOf(request);
                _runs.AddOrUpdate(query, 1, (_, count) => count + 1);
                return new(SearchServer.Found(query));
            })
            .AddEndpoint(setup.Endpoint)
            .StartListening();
        RpcEndpoint endpoint = _server.Endpoints[0];
        if (endpoint.Port > 0)
        {
            _relay = new FaultRelay(PlaceOf(endpoint), new IPEndPoint(IPAddress.Loopback, 0));
            _through = endpoint.WithPort(_relay.Port);
        }
        else
        {
            _through = RpcEndpoint.Parse($"{endpoint.Uri}-r");
            _socket = PathOf(_through);
            _relay = new FaultRelay(PlaceOf(endpoint), new UnixDomainSocketEndPoint(_socket));
        }

        _direct = RpcClient.Connect(endpoint, SearchServer.Schema, setup.Client);
    }

    /// <summary>Where a listener of this machine accepts connections.</summary>
    public static EndPoint PlaceOf(RpcEndpoint endpoint) => endpoint.Port > 0
        ? new IPEndPoint(IPAddress.Loopback, endpoint.Port)
        : new UnixDomainSocketEndPoint(PathOf(endpoint));

    /// <summary>Calls with a fault at each octet of both directions, or at one of so many.</summary>
    public async Task<FaultCount> RunAsync(FaultKind kind, int step)
    {
        _relay.Fault = null;
        string whole = $"q-{kind}-whole";
        Assert.Equal(whole, await CallAsync(whole, Patience));
        bool isSlow = kind is FaultKind.Drip or FaultKind.Delay;
        TimeSpan deadline = isSlow || kind is FaultKind.Cut or FaultKind.Reset ? Patience : Deadline;
        FaultCount count = default;
        foreach (bool toServer in new[] { true, false })
        {
            long length = _relay.MostOf(toServer);
            Assert.InRange(length, 50, 20_000);
            for (long offset = 0; offset < length; offset += step)
            {
                _relay.Fault = new Fault(kind, toServer, offset);
                string query = $"q-{kind}-{toServer}-{offset}";
                string? answer = await CallAsync(query, deadline);
                if (isSlow || (answer is not null && (_setup.IsProtected || kind is not (
                    FaultKind.Flip or FaultKind.Drop or FaultKind.Duplicate or FaultKind.Swap))))
                {
                    Assert.True(answer == query, $"{query}: {answer ?? _failure}");
                }

                count += answer is null ? new FaultCount(0, 1) : new FaultCount(1, 0);
            }

            Assert.Equal("q-direct", await SearchAsync(_direct, "q-direct", Patience));
        }

        _runs.TryRemove("q-direct", out _);
        Assert.All(_runs, run => Assert.Equal(1, run.Value));
        if (_setup.IsProtected)
        {
            // Nothing that nobody asked, which is what a harmed request would be.
            Assert.Subset(_asked, _runs.Keys.ToHashSet());
        }

        return count;
    }

    public void Dispose()
    {
        _direct.Dispose();
        _relay.Dispose();
        _server.Dispose();
        if (_socket is not null)
        {
            File.Delete(_socket);
        }
    }

    private static string PathOf(RpcEndpoint endpoint)
    {
        if (endpoint.Transport == RpcTransport.GrpcUnix)
        {
            return endpoint.Name;
        }

        return OperatingSystem.IsWindows()
            ? throw new PlatformNotSupportedException("Pipes of Windows have no relay here.")
            : UnixSocketTransport.PathOf(
                endpoint, LocalSocketDirectory.Prepare(endpoint, endpoint.Uri.Split(':')[0]));
    }

    // Null for a call that failed.
    private async Task<string?> CallAsync(string query, TimeSpan deadline)
    {
        _asked.Add(query);
        Stopwatch watch = Stopwatch.StartNew();
        try
        {
            using RpcClient client = RpcClient.Connect(
                _through, SearchServer.Schema, _setup.Client with { Lazy = true });
            return await SearchAsync(client, query, deadline).WaitAsync(2 * Patience);
        }
        catch (RpcException e)
        {
            Assert.False(string.IsNullOrWhiteSpace(e.Message));
            _failure = e.Message;
            return null;
        }
        finally
        {
            Assert.True(watch.Elapsed < Patience / 2, $"{query} took {watch.Elapsed}");
        }
    }

    private static async Task<string> SearchAsync(RpcClient client, string query, TimeSpan deadline)
    {
        DynamicMessage reply = await client.InvokeAsync(
            "Search", new { query }, new RpcCallOptions { Timeout = deadline });
        return reply.ToString().Split("url: \"", 2)[^1].Split('"')[0];
    }
}
