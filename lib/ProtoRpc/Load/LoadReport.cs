using System.Globalization;
using System.Text;

namespace ProtoRpc.Load;

/// <summary>The result of a load test as people read it.</summary>
internal static class LoadReport
{
    private const int BarWidth = 30;

    private static readonly string[] ByteUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

    public static string Of(RpcLoadResult result)
    {
        StringBuilder text = new();
        text.Append(TerminalText.Neutralize(result.Name)).Append(' ').Append(result.Method).Append('\n');
        if (result.Error is { } error)
        {
            return text.Append(CultureInfo.InvariantCulture, $"  not measured: {error.Message}").ToString();
        }

        Line(text, "Load", LoadOf(result));
        Line(text, "Calls", $"{result.Calls:N0}, {result.Failed:N0} failed, {Rate(result.CallsPerSecond)}/s");
        Line(text, "Sent", MessagesOf(
            result, result.MessagesSent, result.MessagesSentPerSecond, result.BytesSentPerSecond));
        Line(text, "Received", MessagesOf(
            result, result.MessagesReceived, result.MessagesReceivedPerSecond,
            result.BytesReceivedPerSecond));
        if (result.Latency.Count > 0)
        {
            Line(
                text, "Latency", $"min {Time(result.Min)}, mean {Time(result.Mean)}, max {Time(result.Max)}");
            string rare = $"p99 {Time(result.P99)}, p99.9 {Time(result.P999)}";
            Line(text, "", $"p50 {Time(result.P50)}, p90 {Time(result.P90)}, {rare}");
        }

        foreach (RpcLoadError failure in result.Errors)
        {
            Line(text, "Failed", $"{failure.Count:N0} {failure.Status}, first: {failure.First.Message}");
        }

        foreach (string note in NotesOf(result))
        {
            Line(text, "Note", $"{note}");
        }

        return text.Append(Distribution(result.Histogram)).ToString().TrimEnd('\n');
    }

    private static FormattableString LoadOf(RpcLoadResult result)
    {
        string rate = result.Rate is { } perSecond
            ? string.Create(CultureInfo.InvariantCulture, $"{perSecond:#,0.###} calls/s, ")
            : "";
        string connections = result.Connections == 1 ? "1 connection" : $"{result.Connections} connections";
        string callers = result.Concurrency == 1 ? "1 caller" : $"{result.Concurrency} callers";
        return $"{rate}{callers}, {connections}, {result.Elapsed.TotalSeconds:N1} s";
    }

    private static FormattableString MessagesOf(
        RpcLoadResult result, long messages, double messagesPerSecond, double bytesPerSecond)
    {
        // One a call says nothing more than the calls.
        string count = messages == result.Calls
            ? ""
            : string.Create(
                CultureInfo.InvariantCulture, $"{messages:N0} messages, {Rate(messagesPerSecond)}/s, ");
        return $"{count}{Bytes(bytesPerSecond)}/s";
    }

    private static IEnumerable<string> NotesOf(RpcLoadResult result)
    {
        if (result.Stopped is not null)
        {
            yield return result.Stopped;
        }

        if (result.Late > 0)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{Calls(result.Late)} sent late, because all callers were busy.");
        }

        if (result.NotSent > 0)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{Calls(result.NotSent)} never sent, because all callers were busy.");
        }

        if (result.Starved > result.Calls / 100)
        {
            yield return string.Create(
                CultureInfo.InvariantCulture,
                $"{result.Starved:N0} calls waited for their message to be made.");
        }
    }

    private static string Calls(long count) => count == 1
        ? "1 call was"
        : string.Create(CultureInfo.InvariantCulture, $"{count:N0} calls were");

    private static string Distribution(IReadOnlyList<RpcLatencyBucket> buckets)
    {
        StringBuilder text = new();
        long most = Math.Max(1, buckets.Select(bucket => bucket.Count).DefaultIfEmpty().Max());
        foreach (RpcLatencyBucket bucket in buckets)
        {
            int bar = (int)Math.Ceiling(BarWidth * (double)bucket.Count / most);
            string step = $"{Time(bucket.From.TotalMilliseconds)} - {Time(bucket.To.TotalMilliseconds)}";
            text.Append(
                CultureInfo.InvariantCulture,
                $"  {step,-20} {new string('#', bar),-30} {bucket.Count,11:N0} {bucket.Share,8:P1}\n");
        }

        return text.ToString();
    }

    private static void Line(StringBuilder text, string label, FormattableString value) =>
        text.Append(CultureInfo.InvariantCulture, $"  {label,-9} ")
            .Append(FormattableString.Invariant(value))
            .Append('\n');

    private static string Rate(double perSecond) =>
        perSecond.ToString(perSecond < 100 ? "0.##" : "N0", CultureInfo.InvariantCulture);

    // Three digits, as far as they go.
    private static string Time(double milliseconds) => milliseconds switch
    {
        0 => "0",
        >= 10_000 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds / 1000:0.#} s"),
        >= 1000 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds / 1000:0.##} s"),
        >= 100 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0} ms"),
        >= 10 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0.#} ms"),
        >= 1 => string.Create(CultureInfo.InvariantCulture, $"{milliseconds:0.##} ms"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{milliseconds * 1000:0.#} us"),
    };

    private static string Bytes(double count)
    {
        int unit = 0;
        for (; count >= 1024 && unit < ByteUnits.Length - 1; unit++)
        {
            count /= 1024;
        }

        return string.Create(CultureInfo.InvariantCulture, $"{count:0.#} {ByteUnits[unit]}");
    }
}
