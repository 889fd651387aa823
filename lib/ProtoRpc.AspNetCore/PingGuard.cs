using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;

namespace ProtoRpc.AspNetCore;

/// <summary>Ends HTTP/2 connections whose clients ping too often, as other gRPC servers do: with GOAWAY,
/// ENHANCE_YOUR_CALM and the text too_many_pings. Kestrel acknowledges every ping and counts none.</summary>
/// <param name="minInterval">Pings with at least this interval are allowed, and so are pings after data was
/// sent.</param>
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

    public void AddPing()
    {
        // The acknowledgements of pings are not data, even if they are still to be sent.
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

/// <summary>Looks at the frames of a client on their way to Kestrel,
/// and finds the pings among them.</summary>
internal sealed class PingReader(PipeReader inner, PingGuard guard) : PipeReader
{
    private readonly PingScanner _scanner = new(guard.AddPing);
    private ReadOnlySequence<byte> _buffer;
    private long _scanned;

    public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) =>
        Scan(await inner.ReadAsync(cancellationToken).ConfigureAwait(false));

    public override bool TryRead(out ReadResult result)
    {
        if (!inner.TryRead(out result))
        {
            return false;
        }

        result = Scan(result);
        return true;
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        _scanned = _buffer.Slice(consumed).Length;
        _buffer = default;
        inner.AdvanceTo(consumed, examined);
    }

    public override void CancelPendingRead() => inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    private ReadResult Scan(ReadResult result)
    {
        _buffer = result.Buffer;
        _scanner.Scan(_buffer.Slice(_scanned));

        // After GOAWAY, further input is reported as the end of the connection.
        return guard.IsOver ? new ReadResult(_buffer, result.IsCanceled, isCompleted: true) : result;
    }
}

/// <summary>Finds the PING frames (RFC 9113 section 6.7) in the bytes of an HTTP/2 client. Other protocols
/// are recognized by their first bytes, and then not examined.</summary>
internal sealed class PingScanner(Action found)
{
    private const int HeaderLength = 9;
    private const int TypeOffset = 3;
    private const int FlagsOffset = 4;
    private const byte Ping = 6;
    private const byte Ack = 1;

    private readonly byte[] _header = new byte[HeaderLength];
    private int _inPreface;
    private int _inHeader;
    private int _payload;
    private bool _isOther;

    private static ReadOnlySpan<byte> Preface => Http2Preface.Bytes;

    /// <summary>Continues where the previous scan ended.</summary>
    public void Scan(in ReadOnlySequence<byte> bytes)
    {
        foreach (ReadOnlyMemory<byte> part in bytes)
        {
            Scan(part.Span);
        }
    }

    private void Scan(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty && !_isOther)
        {
            if (_inPreface < Preface.Length)
            {
                int count = Math.Min(bytes.Length, Preface.Length - _inPreface);
                _isOther = !bytes[..count].SequenceEqual(Preface.Slice(_inPreface, count));
                _inPreface += count;
                bytes = bytes[count..];
            }
            else if (_payload > 0)
            {
                int count = Math.Min(bytes.Length, _payload);
                _payload -= count;
                bytes = bytes[count..];
            }
            else
            {
                int count = Math.Min(bytes.Length, HeaderLength - _inHeader);
                bytes[..count].CopyTo(_header.AsSpan(_inHeader));
                _inHeader += count;
                bytes = bytes[count..];
                if (_inHeader == HeaderLength)
                {
                    Take();
                }
            }
        }
    }

    private void Take()
    {
        _inHeader = 0;
        _payload = (_header[0] << 16) | (_header[1] << 8) | _header[2];
        if (_header[TypeOffset] == Ping && (_header[FlagsOffset] & Ack) == 0)
        {
            found();
        }
    }
}

/// <summary>Counts what Kestrel sends, and adds the farewell to clients who ping too often.</summary>
internal sealed class PingWriter(PipeWriter inner, PingGuard guard) : PipeWriter
{
    // Last-Stream-ID 2^31-1, ENHANCE_YOUR_CALM, and the text that gRPC clients look for.
    private static readonly byte[] Farewell =
        [0, 0, 22, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0xb, .. "too_many_pings"u8];

    public override bool CanGetUnflushedBytes => inner.CanGetUnflushedBytes;

    public override long UnflushedBytes => inner.UnflushedBytes;

    public override void Advance(int bytes)
    {
        guard.AddWritten(bytes);
        inner.Advance(bytes);
    }

    public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => inner.GetSpan(sizeHint);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        // Kestrel flushes whole frames and answers each ping with one frame. So this runs immediately after a
        // ping, and between frames.
        if (guard.HasTooMany && !guard.IsOver)
        {
            inner.Write(Farewell);
            guard.IsOver = true;
        }

        return inner.FlushAsync(cancellationToken);
    }

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);
}
