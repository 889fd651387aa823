using System.Collections.Concurrent;
using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A network that harms a conversation at each of its octets: a call ends with one answer or one
/// error, it runs once at most, and the listener goes on.</summary>
public static class FaultTests
{
    // Of a call that waits for octets which do not come.
    private static readonly TimeSpan Deadline = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string, FaultKind, int> Faults
    {
        get
        {
            TheoryData<string, FaultKind, int> data = [];
            foreach (string endpoint in new[]
            {
                "ncacn_ip_tcp:127.0.0.1[0]", "http://127.0.0.1:0/", "grpc://127.0.0.1:0",
            })
            {
                data.Add(endpoint, FaultKind.Cut, 1);
                data.Add(endpoint, FaultKind.Reset, 3);
                data.Add(endpoint, FaultKind.Flip, 2);
                data.Add(endpoint, FaultKind.Drop, 9);
                data.Add(endpoint, FaultKind.Duplicate, 3);
                data.Add(endpoint, FaultKind.Stall, 41);
                data.Add(endpoint, FaultKind.Drip, 1000);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Faults))]
    public static async Task A_call_has_one_end_and_runs_once(string endpoint, FaultKind kind, int step)
    {
        ConcurrentDictionary<string, int> runs = new();
        using RpcServer server = RpcServer.Create(
            SearchServer.Schema, null, new RpcServerOptions().WithHttp())
            .Handle("Search", (_, request) =>
            {
                string query = SearchServer.TextOf(request);
                runs.AddOrUpdate(query, 1, (_, count) => count + 1);
                return new(SearchServer.Found(query));
            })
            .AddEndpoint(endpoint)
            .StartListening();
        using FaultRelay relay = new(server.Endpoints[0].Port);
        string through = server.Endpoints[0].Uri.Replace(
            $":{server.Endpoints[0].Port}", $":{relay.Port}", StringComparison.Ordinal);
        using RpcClient direct = RpcClient.Connect(server.Endpoints[0], SearchServer.Schema);

        // What is said without a fault.
        Assert.Equal("q-whole", await CallAsync(through, "q-whole", Patience));
        TimeSpan deadline = kind is FaultKind.Cut or FaultKind.Reset or FaultKind.Drip ? Patience : Deadline;
        int tried = 0;
        foreach (bool toServer in new[] { true, false })
        {
            long length = relay.MostOf(toServer);
            Assert.InRange(length, 50, 5000);
            for (long offset = 0; offset < length; offset += step)
            {
                relay.Fault = new Fault(kind, toServer, offset);
                string query = $"q-{toServer}-{offset}";
                string? answer = await CallAsync(through, query, deadline);
                if (kind is FaultKind.Drip || (answer is not null && kind is not (
                    FaultKind.Flip or FaultKind.Drop or FaultKind.Duplicate)))
                {
                    Assert.Equal(query, answer);
                }

                tried++;
            }

            Assert.Equal("q-direct", await SearchAsync(direct, "q-direct", Patience));
        }

        runs.TryRemove("q-direct", out _);
        Assert.InRange(tried, 2, 10_000);
        Assert.All(runs, run => Assert.Equal(1, run.Value));
    }

    // Null for a call that failed.
    private static async Task<string?> CallAsync(string endpoint, string query, TimeSpan deadline)
    {
        Stopwatch watch = Stopwatch.StartNew();
        try
        {
            using RpcClient client = RpcClient.Connect(
                endpoint, SearchServer.Schema, new RpcClientOptions { Lazy = true });
            return await SearchAsync(client, query, deadline).WaitAsync(2 * Patience);
        }
        catch (RpcException e)
        {
            Assert.False(string.IsNullOrWhiteSpace(e.Message));
            return null;
        }
        finally
        {
            Assert.InRange(watch.Elapsed, TimeSpan.Zero, Patience / 2);
        }
    }

    private static async Task<string> SearchAsync(RpcClient client, string query, TimeSpan deadline)
    {
        DynamicMessage reply = await client.InvokeAsync(
            "Search", new { query }, new RpcCallOptions { Timeout = deadline });
        return reply.ToString().Split("url: \"", 2)[^1].Split('"')[0];
    }
}
