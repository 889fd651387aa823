using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Client;

namespace ProtoRpc;

/// <summary>A streaming call. Disposing it before its end cancels the call on the server.</summary>
/// <typeparam name="TRequest">The type of requests.</typeparam>
/// <typeparam name="TReply">The type of replies.</typeparam>
/// <remarks>You can send and read in parallel, but only one send and one read at a time. Cancelling the token
/// of a waiting send or read cancels the whole call.</remarks>
public class RpcStreamingCall<TRequest, TReply> : IAsyncDisposable
    where TRequest : class
    where TReply : class, IMessage
{
    private readonly StreamingCallParts<TReply> _parts;
    private readonly RpcClientStream _stream;
    private Action<RpcStatusCode, RpcException?>? _ended;
    private ExceptionDispatchInfo? _failure;
    private TReply? _current;

    internal RpcStreamingCall(StreamingCallParts<TReply> parts)
    {
        _parts = parts;
        _stream = parts.Stream;
        _ended = parts.Ended;
    }

    /// <summary>The method.</summary>
    public RpcMethodInfo Method => _parts.Method;

    /// <summary>The last reply.</summary>
    /// <exception cref="InvalidOperationException">No reply has been read yet.</exception>
    public TReply Current =>
        _current ?? throw new InvalidOperationException("No reply has been read yet.");

    /// <summary>Sends a request. Waits while the server does not accept more.</summary>
    /// <param name="request">The request.</param>
    /// <param name="compress">If false, the request is sent uncompressed, even if the call uses
    /// compression.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the server has already ended the call:
    /// <see cref="ReadAsync"/> returns or throws how it ended.</returns>
    /// <exception cref="RpcException">InvalidArgument: the request does not fit the method.
    /// Cancelled.</exception>
    public ValueTask<bool> SendAsync(
        TRequest request, bool compress = true, CancellationToken cancellationToken = default) =>
        _stream.SendAsync(_parts.ToRequest(request), compress, cancellationToken);

    /// <summary>Ends the request stream.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    public ValueTask CompleteAsync(CancellationToken cancellationToken = default) =>
        _stream.CompleteAsync(cancellationToken);

    /// <summary>Waits for the next reply and stores it in <see cref="Current"/>.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the call has ended successfully.</returns>
    /// <exception cref="RpcException">The call failed, in this read or an earlier one.</exception>
    public async ValueTask<bool> ReadAsync(CancellationToken cancellationToken = default)
    {
        // A second reader must not mistake a failed call for one that ended successfully.
        _failure?.Throw();
        try
        {
            if (!await _stream.ReadAsync(cancellationToken).ConfigureAwait(false))
            {
                End(RpcStatusCode.OK);
                return false;
            }

            _current = _parts.ToReply(_stream.Current);
            return true;
        }
        catch (RpcException e)
        {
            _failure = ExceptionDispatchInfo.Capture(_parts.Locate(e));
            End(e.Code, e);
            throw;
        }
    }

    /// <summary>Reads the remaining replies, until the end of the call.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <exception cref="RpcException">The call failed.</exception>
    public async IAsyncEnumerable<TReply> ReadAllAsync(
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        while (await ReadAsync(cancellationToken).ConfigureAwait(false))
        {
            yield return Current;
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        End(RpcStatusCode.Cancelled);
        return _stream.DisposeAsync();
    }

    private void End(RpcStatusCode status, RpcException? error = null) =>
        Interlocked.Exchange(ref _ended, null)?.Invoke(status, error);

    // Sends the requests as they arrive, and cancels the call if their source fails.
    internal async Task SendAllAsync(IAsyncEnumerable<TRequest> requests, CancellationTokenSource end)
    {
        try
        {
            await foreach (TRequest request in requests.WithCancellation(end.Token).ConfigureAwait(false))
            {
                if (!await SendAsync(request, compress: true, CancellationToken.None).ConfigureAwait(false))
                {
                    return;
                }
            }

            await CompleteAsync(CancellationToken.None).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The call ended before all requests were sent.
        }
        catch
        {
            await end.CancelAsync().ConfigureAwait(false);
            throw;
        }
    }
}
