using System.IO.Pipes;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Win32.SafeHandles;
using ProtoRpc.Security;

namespace ProtoRpc.Transports;

/// <summary>A connected named pipe of Windows.</summary>
[SupportedOSPlatform("windows")]
internal sealed partial class WindowsPipeConnection : TransportConnection
{
    private static readonly TimeSpan NoticePatience = TimeSpan.FromMilliseconds(50);
    private readonly PipeStream _pipe;
    private readonly CancellationTokenSource _aborted = new();
    private readonly CancellationTokenSource _receiving = new();

    public WindowsPipeConnection(PipeStream pipe)
    {
        _pipe = pipe;
    }

    // A blocked read of a pipe ends by a token only, so the blocking members wait for the asynchronous ones.

    /// <inheritdoc/>
    public override int Receive(Memory<byte> buffer)
    {
        ValueTask<int> read = ReceiveAsync(buffer, CancellationToken.None);
        return read.IsCompletedSuccessfully ? read.Result : read.AsTask().GetAwaiter().GetResult();
    }

    /// <inheritdoc/>
    public override void Send(ReadOnlyMemory<byte> bytes)
    {
        ValueTask write = _pipe.WriteAsync(bytes, _aborted.Token);
        if (!write.IsCompletedSuccessfully)
        {
            write.AsTask().GetAwaiter().GetResult();
        }
    }

    /// <inheritdoc/>
    public override async ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellation, _aborted.Token, _receiving.Token);
        try
        {
            return await _pipe.ReadAsync(buffer, end.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (
            _receiving.IsCancellationRequested && !_aborted.IsCancellationRequested
            && !cancellation.IsCancellationRequested)
        {
            return 0;
        }
    }

    /// <inheritdoc/>
    public override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(cancellation, _aborted.Token);
        await _pipe.WriteAsync(bytes, end.Token).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override unsafe int Peek(Span<byte> buffer)
    {
        fixed (byte* pointer = buffer)
        {
            uint read = 0;
            uint available = 0;
            try
            {
                return PeekNamedPipe(
                    _pipe.SafePipeHandle, pointer, (uint)buffer.Length, &read, &available, null) == 0
                    ? 0
                    : available == 0 ? -1 : (int)read;
            }
            catch (Exception e) when (IsBroken(e))
            {
                return 0;
            }
        }
    }

    /// <inheritdoc/>
    public override void TrySendNow(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _pipe.WriteAsync(bytes.ToArray(), _aborted.Token).AsTask().Wait(NoticePatience);
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // The connection is given up anyway.
        }
    }

    /// <summary>Does nothing: a pipe has no half-closed state.</summary>
    public override void FinishSending()
    {
    }

    /// <inheritdoc/>
    public override void StopReceiving()
    {
        try
        {
            _receiving.Cancel();
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // It was closed already.
        }
    }

    /// <inheritdoc/>
    public override void Abort()
    {
        try
        {
            _aborted.Cancel();
            _pipe.Dispose();
        }
        catch (Exception e) when (IsBroken(e) || e is AggregateException)
        {
            // It was closed already.
        }
    }

    /// <inheritdoc/>
    public override PeerIdentity ReadPeer() => _pipe is NamedPipeServerStream server
        ? WindowsPeer.Read(server)
        : PeerIdentity.Anonymous("");

    /// <inheritdoc/>
    public override void RequireServer(RpcEndpoint endpoint, string? user) =>
        ServerAccount.Require(endpoint, WindowsPeer.ReadServer(_pipe), user);

    /// <inheritdoc/>
    public override void Dispose()
    {
        _pipe.Dispose();
        _aborted.Dispose();
        _receiving.Dispose();
    }

    [LibraryImport("kernel32", SetLastError = true)]
    private static unsafe partial int PeekNamedPipe(
        SafePipeHandle pipe, byte* buffer, uint size, uint* read, uint* available, uint* left);
}
