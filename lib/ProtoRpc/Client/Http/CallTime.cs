using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

/// <summary>The time of one call: ended by the caller or by the deadline, and which of them it was.</summary>
internal sealed class CallTime : IDisposable
{
    private readonly TimeSpan _timeout;
    private readonly CancellationToken _caller;
    private readonly CancellationTokenSource _source;

    public CallTime(TimeSpan timeout, CancellationToken caller)
    {
        _timeout = timeout;
        _caller = caller;
        _source = CancellationTokenSource.CreateLinkedTokenSource(caller);
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            _source.CancelAfter(timeout);
        }
    }

    public CancellationToken Token => _source.Token;

    /// <summary>Why a call ended without a reply.</summary>
    /// <param name="endpoint">Who was called.</param>
    /// <param name="error">What the HTTP client says.</param>
    /// <param name="sent">Whether the server may have the request.</param>
    public RpcException Explain(RpcEndpoint endpoint, Exception error, bool sent = true)
    {
        if (_caller.IsCancellationRequested)
        {
            return new RpcException(RpcStatusCode.Cancelled, "The call was cancelled.", error)
            {
                MayHaveExecuted = sent,
            };
        }

        if (_source.IsCancellationRequested)
        {
            return sent
                ? CallErrors.TimedOut(endpoint, _timeout, sent: true, error)
                : new RpcException(
                    RpcStatusCode.DeadlineExceeded,
                    $"'{endpoint}' took no request within {_timeout.TotalSeconds:0.###} s; the call "
                    + "did not run.",
                    error)
                {
                    Endpoint = endpoint,
                    MayHaveExecuted = false,
                };
        }

        return error switch
        {
            HttpRequestException http => HttpTransport.Failure(endpoint, http, sent),

            InvalidDataException => new RpcException(
                RpcStatusCode.Internal,
                $"The reply of '{endpoint}' is not compressed as it says: {error.Message}", error)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            },

            // The handler's own limit, on connecting.
            OperationCanceledException => EndpointErrors.CannotConnect(endpoint, error),
            _ => new RpcException(
                RpcStatusCode.Unavailable, $"The connection to '{endpoint}' broke: {error.Message}", error)
            {
                MayHaveExecuted = sent,
            },
        };
    }

    public void Dispose() => _source.Dispose();
}
