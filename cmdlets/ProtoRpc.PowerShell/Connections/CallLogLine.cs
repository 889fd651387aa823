using System.Diagnostics;

namespace ProtoRpc.PowerShell.Connections;

/// <summary>The line that <c>-Verbose</c> writes about a call when it has ended.</summary>
/// <param name="method">The full name of the method, or the id of a raw interface.</param>
/// <param name="endpoint">The endpoint of the call.</param>
/// <param name="info">The sizes, the retries and the server, which are complete when the call has
/// ended.</param>
internal sealed class CallLogLine(string method, RpcEndpoint endpoint, RpcReplyInfo info)
{
    private readonly long _start = Stopwatch.GetTimestamp();

    /// <summary>The call in one line.</summary>
    /// <param name="status">The status of the call.</param>
    public string TextOf(RpcStatusCode status)
    {
        string trace = Activity.Current is { IdFormat: ActivityIdFormat.W3C } current
            ? $", trace {current.TraceId}"
            : "";
        return FormattableString.Invariant(
            $"{method} on {info.Endpoint ?? endpoint}: {status} in {Elapsed:0.###} ms, ")
            + FormattableString.Invariant(
                $"{info.BytesSent} bytes sent, {info.BytesReceived} bytes received, {info.Retries} retries")
            + trace;
    }

    // Milliseconds, including the time to connect.
    private double Elapsed => Stopwatch.GetElapsedTime(_start).TotalMilliseconds;
}
