using Microsoft.Extensions.Logging;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.Tests.Server;

/// <summary>What a server says when it has no file handles for connections.</summary>
public static class HandleShortageTests
{
    private const long Minute = 60_000;
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Parse("tcp://127.0.0.1:1");

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(long.MaxValue / 2)]
    public static void It_warns_once_a_minute_and_counts_all(long start)
    {
        List<string> warnings = [];
        using ListLogger log = new();
        CallMonitor monitor = new(log.CreateLogger("server")) { Warned = warnings.Add };

        foreach (long after in new[] { 0, 1, Minute - 1, Minute, Minute + 1, 2 * Minute })
        {
            monitor.ReportHandleShortage(Endpoint, start + after);
        }

        Assert.Equal(6, monitor.HandleShortages);
        Assert.Equal(3, warnings.Count);
        Assert.Contains($"'{Endpoint}'", warnings[0], StringComparison.Ordinal);
        Assert.Contains(" 4 times ", warnings[1], StringComparison.Ordinal);
        Assert.Equal(
            warnings.Select(text => (LogLevel.Warning, text)), log.Entries.Select(e => (e.Level, e.Text)));
    }

    [Fact]
    public static void Exceptions_of_who_is_warned_are_ignored()
    {
        using ListLogger log = new() { Failure = new InvalidOperationException() };
        CallMonitor monitor = new(log.CreateLogger("server"))
        {
            Warned = _ => throw new InvalidOperationException(),
        };

        monitor.ReportHandleShortage(Endpoint);

        Assert.Equal(1, monitor.HandleShortages);
    }

    [Fact]
    public static void Many_threads_warn_once()
    {
        int warnings = 0;
        CallMonitor monitor = new() { Warned = _ => Interlocked.Increment(ref warnings) };

        Parallel.For(0, 1000, _ => monitor.ReportHandleShortage(Endpoint, 5));

        Assert.Equal((1000, 1), (monitor.HandleShortages, warnings));
    }
}
