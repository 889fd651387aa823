using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc;

/// <summary>A call whose messages go and come one at a time.
/// Disposing it before its end cancels it on the server.</summary>
/// <remarks>One may send while another reads; neither is done by two at once.</remarks>
public sealed class RpcStreamingCall : IAsyncDisposable
{
    private readonly IRpcStream _stream;
    private readonly RpcEndpoint _endpoint;
    private readonly RpcLimits _limits;
    private Action? _ended;
    private ExceptionDispatchInfo? _failure;
    private DynamicMessage? _current;

    /// <param name="method">The method.</param>
    /// <param name="stream">The call below.</param>
    /// <param name="endpoint">For errors.</param>
    /// <param name="limits">What replies may be made of.</param>
    /// <param name="ended">Told once that the call has ended, however it did.</param>
    internal RpcStreamingCall(
        RpcMethodInfo method, IRpcStream stream, RpcEndpoint endpoint, RpcLimits limits, Action ended)
    {
        _limits = limits;
        Method = method;
        _stream = stream;
        _endpoint = endpoint;
        _ended = ended;
    }

    /// <summary>The method.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>The reply that was read last.</summary>
    public DynamicMessage Current =>
        _current ?? throw new InvalidOperationException("No reply was read yet.");

    /// <summary>Sends a request; waits while the server does not take it.</summary>
    /// <param name="request">The request, dynamic or generated.</param>
    /// <param name="compress">False sends it uncompressed where the call's requests are compressed.</param>
    /// <returns>False when the server has ended the call already:
    /// <see cref="ReadAsync"/> tells how.</returns>
    public ValueTask<bool> SendAsync(IMessage request, bool compress = true)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request.Descriptor.FullName != Method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{Method.FullName} takes a {Method.RequestType.FullName}, "
                + $"not a {request.Descriptor.FullName}.");
        }

        MessageChecks.RequireInitialized(request, Method.RequestType);
        return _stream.SendAsync(request, compress);
    }

    /// <summary>Tells the server that no further request comes.</summary>
    public ValueTask CompleteAsync() => _stream.CompleteAsync();

    /// <summary>Waits for the next reply, which is then <see cref="Current"/>.</summary>
    /// <returns>False when the call has ended well.</returns>
    /// <exception cref="RpcException">The call failed, now or at an earlier read.</exception>
    public async ValueTask<bool> ReadAsync()
    {
        // A second reader must not take a call that failed for one that ended well.
        _failure?.Throw();
        try
        {
            if (!await _stream.ReadAsync().ConfigureAwait(false))
            {
                End();
                return false;
            }

            _current = ReplyParser.Parse(Method, _stream.Current, _limits);
            return true;
        }
        catch (RpcException e)
        {
            e.Endpoint ??= _endpoint;
            e.MethodName ??= Method.FullName;
            e.Details = GrpcStatusDetails.Complete(e.Details, Method.Service.Schema);
            _failure = ExceptionDispatchInfo.Capture(e);
            End();
            throw;
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        End();
        return _stream.DisposeAsync();
    }

    private void End() => Interlocked.Exchange(ref _ended, null)?.Invoke();

    // Sends what comes, and ends the whole call when its source fails.
    internal async Task SendAllAsync(IAsyncEnumerable<IMessage> requests, CancellationTokenSource end)
    {
        try
        {
            await foreach (IMessage request in requests.WithCancellation(end.Token).ConfigureAwait(false))
            {
                if (!await SendAsync(request).ConfigureAwait(false))
                {
                    return;
                }
            }

            await CompleteAsync().ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The call ended before its requests did.
        }
        catch
        {
            await end.CancelAsync().ConfigureAwait(false);
            throw;
        }
    }
}
