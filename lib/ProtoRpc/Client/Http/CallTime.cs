using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

/// <summary>Cancels a call when the caller cancels it or its time is over, and explains how it
/// ended.</summary>
internal sealed class CallTime : IDisposable
{
    private readonly CallClock _clock;
    private readonly CancellationTokenSource _source = new();
    private readonly CancellationTokenRegistration _ofCaller;
    private readonly CancellationTokenRegistration _ofClient;
    private readonly CancellationToken _closed;

    /// <param name="clock">The time of the call.</param>
    /// <param name="closed">Cancelled when the client is closed.</param>
    public CallTime(CallClock clock, CancellationToken closed = default)
    {
        _clock = clock;
        _closed = closed;
        _ofClient = closed.UnsafeRegister(
            static source => ((CancellationTokenSource)source!).Cancel(), _source);
        _ofCaller = clock.Caller.UnsafeRegister(
            static source => ((CancellationTokenSource)source!).Cancel(), _source);
        if (!clock.IsEndless)
        {
            _source.CancelAfter(clock.Left);
        }
    }

    public CancellationToken Token => _source.Token;

    /// <summary>Whether it is an exception by which .NET's HTTP client ends a request.</summary>
    public static bool IsOfClient(Exception error) =>
        error is HttpRequestException or OperationCanceledException or IOException
            // Thrown bare if the server closes a connection while it is made.
            or SocketException;

    /// <summary>Explains why a call ended without a reply.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="error">The exception of the HTTP client.</param>
    /// <param name="sent">Whether the server may have received the request.</param>
    public RpcException Explain(RpcEndpoint endpoint, Exception error, bool sent = true)
    {
        if (_closed.IsCancellationRequested)
        {
            return CallErrors.Cancelled(endpoint, sent, error);
        }

        if (_clock.Ended(endpoint, sent, error, isLate: _source.IsCancellationRequested) is { } ended)
        {
            return ended;
        }

        return error switch
        {
            HttpRequestException http => HttpTransport.Failure(endpoint, http, sent),

            InvalidDataException => new RpcException(
                RpcStatusCode.Internal,
                $"The reply of '{endpoint}' cannot be decompressed: {error.Message}", error)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            },

            // The handler's own timeout for connecting.
            OperationCanceledException e => EndpointErrors.ConnectTimedOut(endpoint, e),
            _ => new RpcException(
                RpcStatusCode.Unavailable, $"The connection to '{endpoint}' broke: {error.Message}", error)
            {
                MayHaveExecuted = sent,
            },
        };
    }

    public void Dispose()
    {
        _ofCaller.Dispose();
        _ofClient.Dispose();
        _source.Dispose();
    }
}
