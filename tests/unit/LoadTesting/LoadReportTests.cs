using System.Globalization;

namespace ProtoRpc.Tests.LoadTesting;

public static class LoadReportTests
{
    [Fact]
    public static void A_result_is_shown_in_a_few_lines_the_same_in_every_culture()
    {
        RpcLatencyHistogram latency = new();
        latency.Record(50_000);
        latency.Record(1_500_000);
        latency.Record(1_500_000);
        latency.Record(2_345_600_000);
        RpcLoadResult result = new()
        {
            Name = "tcp\u001b[31m",
            Method = "demo.Greeter/SayHello",
            Concurrency = 10,
            Connections = 2,
            Rate = 1500,
            Elapsed = TimeSpan.FromSeconds(2),
            Calls = 5000,
            Failed = 1000,
            Late = 12,
            NotSent = 1,
            MessagesSent = 5000,
            MessagesReceived = 40_000,
            BytesSent = 20_480_000,
            BytesReceived = 100,
            Latency = latency,
            Histogram = latency.ToBuckets(),
            Errors = [new RpcLoadError(RpcStatusCode.Aborted, 1000, new(RpcStatusCode.Aborted, "no"))],
            Stopped = "More than 999 calls failed.",
        };

        CultureInfo before = CultureInfo.CurrentCulture;
        try
        {
            CultureInfo culture = (CultureInfo)CultureInfo.InvariantCulture.Clone();
            culture.NumberFormat.NumberGroupSeparator = ".";
            culture.NumberFormat.NumberDecimalSeparator = ",";
            CultureInfo.CurrentCulture = culture;
            string[] lines = result.ToText().Split('\n');

            Assert.Equal(
                """
                tcp\u001B[31m demo.Greeter/SayHello
                  Load      1,500 calls/s, 10 callers, 2 connections, 2.0 s
                  Calls     5,000, 1,000 failed, 2,000/s
                  Sent      9.8 MiB/s
                  Received  40,000 messages, 20,000/s, 50 B/s
                  Latency   min 50 us, mean 587 ms, max 2.35 s
                            p50 1.5 ms, p90 2.35 s, p99 2.35 s, p99.9 2.35 s
                  Failed    1,000 Aborted, first: no
                  Note      More than 999 calls failed.
                  Note      12 calls were sent late, because all callers were busy.
                  Note      1 call was never sent, because all callers were busy.
                """.ReplaceLineEndings("\n").Split('\n'),
                lines[..11]);
            Assert.Equal(15, lines.Length - 11);
            Assert.Equal(
                "  1 ms - 2 ms          ##############################           2   50.0 %", lines[15]);
            Assert.All(lines, line => Assert.InRange(line.Length, 1, 80));
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    [Fact]
    public static void A_target_that_was_not_measured_says_why()
    {
        RpcLoadResult result = new()
        {
            Name = "tcp",
            Method = "a.B/C",
            Error = new(RpcStatusCode.Unavailable, "nobody"),
        };

        Assert.Equal("tcp a.B/C\n  not measured: nobody", LoadReport.Format(result));
    }

    [Fact]
    public static void A_result_without_calls_has_no_latencies()
    {
        RpcLoadResult result = new() { Name = "tcp", Method = "a.B/C", Concurrency = 1, Connections = 1 };

        Assert.DoesNotContain("Latency", result.ToText(), StringComparison.Ordinal);
        Assert.Contains("1 caller, 1 connection", result.ToText(), StringComparison.Ordinal);
    }
}
