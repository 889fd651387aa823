using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace ProtoRpc;

/// <summary>Receives what clients and servers send and receive, for debugging: PDUs, HTTP messages and gRPC
/// frames, by type and size. May be called on many threads in parallel.</summary>
/// <remarks>A trace that is missing or not enabled costs no time.</remarks>
/// <example><code>
/// RpcClientOptions options = new() { Trace = RpcTrace.To(entry => Console.WriteLine(entry)) };
/// </code></example>
public abstract class RpcTrace
{
    // Longer texts of a peer in headers or names are cut off here.
    private const int MaxTextLength = 2000;

    /// <summary>Whether the trace receives entries now.</summary>
    public virtual bool IsEnabled => true;

    /// <summary>Receives an entry. Its exceptions are ignored.</summary>
    public abstract void Write(RpcTraceEntry entry);

    /// <summary>A trace that calls a method for each entry.</summary>
    public static RpcTrace To(Action<RpcTraceEntry> write)
    {
        ArgumentNullException.ThrowIfNull(write);
        return new TraceAction(write);
    }

    /// <summary>Adds an entry. An exception of the trace does not affect the call.</summary>
    internal void Add(bool isSent, RpcEndpoint endpoint, string text)
    {
        try
        {
            Write(new RpcTraceEntry(
                DateTimeOffset.UtcNow, isSent, endpoint, TerminalText.OneLine(text, MaxTextLength)));
        }
        catch (Exception)
        {
        }
    }

    private sealed class TraceAction(Action<RpcTraceEntry> write) : RpcTrace
    {
        public override void Write(RpcTraceEntry entry) => write(entry);
    }
}

/// <summary>An entry of a trace: a PDU, the head of an HTTP message, or a gRPC frame.</summary>
/// <remarks>Contains no passwords, tokens, cookies or contents of messages.</remarks>
/// <example><code>
/// RpcTrace trace = RpcTrace.To(entry =>
///     Console.WriteLine($"{entry.Time:T} {(entry.IsSent ? ">" : "&lt;")} {entry.Text}"));
/// </code></example>
/// <param name="Time">The time in UTC.</param>
/// <param name="IsSent">True if it was sent, false if it was received.</param>
/// <param name="Endpoint">The endpoint of the client or of the listener.</param>
/// <param name="Text">A description in one line, without control characters.</param>
public sealed record RpcTraceEntry(DateTimeOffset Time, bool IsSent, RpcEndpoint Endpoint, string Text)
{
    /// <summary>The entry as one line.</summary>
    public override string ToString() =>
        FormattableString.Invariant($"{Time:HH:mm:ss.ffffff} {(IsSent ? "->" : "<-")} {Endpoint} {Text}");
}

/// <summary>The names under which clients and servers report activities and measurements, for
/// OpenTelemetry's <c>AddSource</c> and <c>AddMeter</c>. Without a listener, nothing is recorded.</summary>
/// <example><code>
/// using TracerProvider tracing = Sdk.CreateTracerProviderBuilder()
///     .AddSource(RpcDiagnostics.ActivitySourceName)
///     .Build();
/// </code></example>
public static class RpcDiagnostics
{
    /// <summary>The name of the <see cref="ActivitySource"/>: <c>ProtoRpc</c>.</summary>
    public const string ActivitySourceName = "ProtoRpc";

    /// <summary>The name of the <see cref="System.Diagnostics.Metrics.Meter"/>: <c>ProtoRpc</c>.</summary>
    public const string MeterName = "ProtoRpc";

    internal static ActivitySource Source { get; } = new(ActivitySourceName, Version);

    internal static Meter Meter { get; } = new(MeterName, Version);

    private static string? Version => typeof(RpcDiagnostics).Assembly.GetName().Version?.ToString(3);
}
