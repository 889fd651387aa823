using System.Diagnostics;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client.Balancing;

/// <summary>How long a server rests that could not be reached.</summary>
public static class BackendTests
{
    private static readonly TimeSpan LongestFirstRest = TimeSpan.FromSeconds(1);

    [Fact]
    public static async Task Calls_that_fail_together_count_once()
    {
        using Backend server = Create();
        long start = Stopwatch.GetTimestamp();

        Parallel.For(0, 20, _ => server.Failed());

        Assert.False(server.IsWorthTrying);
        await Eventually.TrueAsync(() => server.IsWorthTrying, "the server is tried again");
        Assert.InRange(Stopwatch.GetElapsedTime(start), LongestFirstRest * 0.9, LongestFirstRest * 4);
    }

    [Fact]
    public static async Task One_that_fails_again_rests_for_longer()
    {
        using Backend server = Create();
        server.Failed();
        await Eventually.TrueAsync(() => server.IsWorthTrying, "the server is tried again");
        long start = Stopwatch.GetTimestamp();

        server.Failed();

        await Eventually.TrueAsync(() => server.IsWorthTrying, "the server is tried again");
        Assert.True(Stopwatch.GetElapsedTime(start) > LongestFirstRest * 1.5);
    }

    private static Backend Create() => new(
        new ResolvedEndpoint(RpcEndpoint.Tcp("127.0.0.1", 1), "127.0.0.1"),
        _ => throw new InvalidOperationException("No call is made."));
}
