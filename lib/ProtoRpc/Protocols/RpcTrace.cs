using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace ProtoRpc;

/// <summary>Receives what clients and servers send and receive, for debugging: PDUs, HTTP messages and gRPC
/// frames, by type and size. May be called on many threads in parallel.</summary>
/// <remarks>Without a trace, or while it is not enabled, it costs nothing.</remarks>
public abstract class RpcTrace
{
    // What a peer sent in a header or a name is cut behind this.
    private const int MaxTextLength = 2000;

    /// <summary>Whether it wants entries now.</summary>
    public virtual bool IsEnabled => true;

    /// <summary>Takes an entry. What it throws is ignored.</summary>
    public abstract void Write(RpcTraceEntry entry);

    /// <summary>A trace that calls a method for each entry.</summary>
    public static RpcTrace To(Action<RpcTraceEntry> write)
    {
        ArgumentNullException.ThrowIfNull(write);
        return new TraceAction(write);
    }

    /// <summary>Makes an entry. A trace that fails changes no call.</summary>
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

/// <summary>What was sent or received: a PDU, the head of an HTTP message, or a frame of gRPC.</summary>
/// <remarks>Never has passwords, tokens, cookies or the contents of messages.</remarks>
/// <param name="Time">When, in UTC.</param>
/// <param name="IsSent">Whether it was sent, and not received.</param>
/// <param name="Endpoint">The endpoint of the client or of the listener.</param>
/// <param name="Text">What it was, in one line without control characters.</param>
public sealed record RpcTraceEntry(DateTimeOffset Time, bool IsSent, RpcEndpoint Endpoint, string Text)
{
    /// <summary>The entry as one line.</summary>
    public override string ToString() =>
        FormattableString.Invariant($"{Time:HH:mm:ss.ffffff} {(IsSent ? "->" : "<-")} {Endpoint} {Text}");
}

/// <summary>The names under which clients and servers report activities and measurements, for
/// OpenTelemetry's <c>AddSource</c> and <c>AddMeter</c>. Without a listener, nothing is recorded.</summary>
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
