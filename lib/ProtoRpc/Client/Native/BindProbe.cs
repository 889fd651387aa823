using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client.Native;

/// <summary>Finds out why a server on TCP does not answer a bind. For example, an HTTP server waits for the
/// end of a line, and would only answer when the time for connecting is over.</summary>
internal sealed class BindProbe : IDisposable
{
    private static readonly TimeSpan SilentAfter = TimeSpan.FromMilliseconds(500);

    private readonly RpcEndpoint _endpoint;
    private readonly bool _isOfUse;
    private readonly CancellationTokenSource _end = new();
    private readonly Action _abort;
    private readonly Timer? _timer;
    private volatile RpcException? _found;

    /// <param name="endpoint">The server.</param>
    /// <param name="hasTls">Whether the connection uses TLS. Servers without TLS reject that
    /// immediately.</param>
    /// <param name="abort">Ends the wait for the answer.</param>
    public BindProbe(RpcEndpoint endpoint, bool hasTls, Action abort)
    {
        _endpoint = endpoint;
        _abort = abort;
        _isOfUse = endpoint.Kind.HasPort && !hasTls;
        if (_isOfUse)
        {
            _timer = new Timer(
                static state => _ = ((BindProbe)state!).AskAsync(), this, SilentAfter,
                Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>The protocol that the server uses instead, if it can be found out; otherwise null.</summary>
    /// <param name="failure">Why the bind failed.</param>
    /// <param name="isOver">Whether no time is left to probe.</param>
    public RpcException? Explain(Exception failure, bool isOver)
    {
        bool isOther =
            TransportConnection.IsBroken(failure) || failure is RpcException
            { ErrorId: RpcErrorIds.ProtocolError };
        if (_found is null && _isOfUse && isOther && !isOver)
        {
            FindAsync().GetAwaiter().GetResult();
        }

        return _found;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _timer?.Dispose();
        _end.Cancel();
    }

    private async Task AskAsync()
    {
        await FindAsync().ConfigureAwait(false);
        if (_found is not null && !_end.IsCancellationRequested)
        {
            _abort();
        }
    }

    private async Task FindAsync()
    {
        SpokenProtocol found = await ProtocolProbe.FindAsync(_endpoint, _end.Token).ConfigureAwait(false);
        if (found is not (SpokenProtocol.Unknown or SpokenProtocol.Native))
        {
            _found = WrongProtocolErrors.Other(_endpoint, found, null);
        }
    }
}
