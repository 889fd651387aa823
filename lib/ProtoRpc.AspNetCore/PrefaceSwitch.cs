using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace ProtoRpc.AspNetCore;

/// <summary>Selects the version of HTTP of connections without TLS by their first bytes. Kestrel itself uses
/// only HTTP/1.1 on such an endpoint if it has both versions.</summary>
/// <param name="versions">The versions that new connections can use.</param>
internal sealed class PrefaceSwitch(Func<HttpProtocols> versions)
{
    private ConnectionDelegate? _http2;

    /// <summary>Adds an endpoint that accepts no connections, because only a bound endpoint has Kestrel's
    /// code for HTTP/2. Must be bound before the endpoint that uses <see cref="Select"/>.</summary>
    public void AddHttp2(KestrelServerOptions options, TimeSpan minPingInterval) =>
        options.Listen(UnreachableEndPoint.Instance, listen =>
        {
            listen.Protocols = HttpProtocols.Http2;
            listen.Use(http2 => _http2 = minPingInterval > TimeSpan.Zero
                ? PingGuard.Watch(http2, minPingInterval)
                : http2);
        });

    /// <summary>Runs each connection with the version of HTTP that its client uses.</summary>
    /// <param name="http1">Runs connections with HTTP/1.1.</param>
    public ConnectionDelegate Select(ConnectionDelegate http1) => connection => versions() switch
    {
        HttpProtocols.Http1 => http1(connection),
        HttpProtocols.Http2 => _http2!(connection),
        _ => SelectAsync(connection, http1),
    };

    private async Task SelectAsync(ConnectionContext connection, ConnectionDelegate http1)
    {
        bool? hasPreface = await Http2Preface.DetectAsync(connection).ConfigureAwait(false);
        if (hasPreface is { } isHttp2)
        {
            await (isHttp2 ? _http2! : http1)(connection).ConfigureAwait(false);
        }
    }
}

/// <summary>The first bytes of an HTTP/2 client: RFC 9113, section 3.4.</summary>
internal static class Http2Preface
{
    public static ReadOnlySpan<byte> Bytes => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Whether a connection begins with the preface. The bytes stay in its input. Waits until this
    /// is certain; <see cref="HttpConnections"/> closes connections without a request.</summary>
    /// <returns>Null if the client closed the connection, or the listener stops.</returns>
    public static async ValueTask<bool?> DetectAsync(ConnectionContext connection)
    {
        PipeReader input = connection.Transport.Input;
        CancellationToken stopping =
            connection.Features.Get<IConnectionLifetimeNotificationFeature>()?.ConnectionClosedRequested
            ?? CancellationToken.None;
        using CancellationTokenRegistration stop = stopping.UnsafeRegister(
            static reader => ((PipeReader)reader!).CancelPendingRead(), input);
        try
        {
            long examined = 0;
            while (true)
            {
                ReadResult read = await input.ReadAsync(CancellationToken.None).ConfigureAwait(false);
                bool? found = Compare(read.Buffer);
                if (found is null && !read.IsCompleted && !read.IsCanceled)
                {
                    examined = read.Buffer.Length;
                    input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                    continue;
                }

                // A pipe rejects an earlier examined position. The bytes after it are not marked as examined,
                // so the next read returns them without waiting.
                input.AdvanceTo(read.Buffer.Start, read.Buffer.GetPosition(examined));
                return read.IsCanceled ? null : found ?? (read.Buffer.IsEmpty ? null : false);
            }
        }
        catch (Exception e) when (e is IOException or OperationCanceledException)
        {
            return null;
        }
    }

    /// <summary>Whether bytes begin with the preface; null if more bytes are needed.</summary>
    public static bool? Compare(in ReadOnlySequence<byte> bytes)
    {
        Span<byte> copy = stackalloc byte[Bytes.Length];
        int length = (int)Math.Min(bytes.Length, Bytes.Length);
        bytes.Slice(0, length).CopyTo(copy);
        return !copy[..length].SequenceEqual(Bytes[..length]) ? false
            : length == Bytes.Length ? true
            : null;
    }
}

/// <summary>An endpoint that no client can reach.</summary>
internal sealed class UnreachableEndPoint : EndPoint
{
    public static UnreachableEndPoint Instance { get; } = new();

    public override string ToString() => "unreachable";
}

/// <summary>Binds <see cref="UnreachableEndPoint"/>: opens no socket and accepts no connections.</summary>
internal sealed class UnreachableListeners : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    public bool CanBind(EndPoint endpoint) => endpoint is UnreachableEndPoint;

    public ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default) =>
        ValueTask.FromResult<IConnectionListener>(new Listener());

    private sealed class Listener : IConnectionListener
    {
        private readonly TaskCompletionSource<ConnectionContext?> _end =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public EndPoint EndPoint => UnreachableEndPoint.Instance;

        public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) =>
            new(_end.Task);

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
        {
            _end.TrySetResult(null);
            return ValueTask.CompletedTask;
        }

        public ValueTask DisposeAsync() => UnbindAsync(CancellationToken.None);
    }
}
