using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace ProtoRpc.Hosting.Pings;

/// <summary>Ends HTTP/2 connections whose clients ping too often, as other gRPC servers do: with GOAWAY,
/// ENHANCE_YOUR_CALM and the text too_many_pings. Kestrel answers every ping and counts none.</summary>
/// <param name="minInterval">Pings further apart are fine, and so are those after something was sent.</param>
internal sealed class PingGuard(TimeSpan minInterval)
{
    private const int MaxStrikes = 2;
    private const int AckLength = 17;

    private long _written;
    private long _pings;
    private long _dataAtPing;
    private long _lastPing;
    private int _strikes;
    private volatile bool _hasTooMany;

    /// <summary>Whether the client has pinged too often.</summary>
    public bool HasTooMany => _hasTooMany;

    /// <summary>Whether GOAWAY was sent, so that nothing more is read from the client.</summary>
    public bool IsOver { get; set; }

    /// <summary>Guards connections that may speak HTTP/2.</summary>
    public static ConnectionDelegate Watch(ConnectionDelegate next, TimeSpan minInterval) => connection =>
    {
        PingGuard guard = new(minInterval);
        connection.Transport = new Pipes(
            new PingReader(connection.Transport.Input, guard),
            new PingWriter(connection.Transport.Output, guard));
        return next(connection);
    };

    /// <summary>Counts bytes that are sent.</summary>
    public void AddWritten(int count) => Interlocked.Add(ref _written, count);

    /// <summary>Counts a ping that came.</summary>
    public void AddPing()
    {
        // Answers to pings are no data, however many of them are still to be sent.
        long now = Environment.TickCount64;
        long data = Interlocked.Read(ref _written) - (++_pings * AckLength);
        bool isFine = data > _dataAtPing || _pings == 1 || now - _lastPing >= minInterval.TotalMilliseconds;
        _strikes = isFine ? 0 : _strikes + 1;
        _dataAtPing = Math.Max(_dataAtPing, data);
        _lastPing = now;
        _hasTooMany |= _strikes > MaxStrikes;
    }

    private sealed record Pipes(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
