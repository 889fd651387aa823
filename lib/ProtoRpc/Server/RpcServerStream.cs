using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>The messages of a call, seen from its handler.
/// A side that does not stream has one message.</summary>
/// <remarks>You can read and write in parallel, but not read or write twice at a time.
/// Valid until the handler ends.</remarks>
public abstract class RpcServerStream
{
    private IMessage? _waiting;
    private ExceptionDispatchInfo? _failure;
    private bool _replied;

    internal RpcServerStream(ServerMethod method) => Method = method;

    internal ServerMethod Method { get; }

    /// <summary>Waits for the next request.</summary>
    /// <returns>A DynamicMessage, or the generated type that the method was registered with; null after the
    /// last request.</returns>
    /// <exception cref="RpcException">It is no request, or too large, now or at an earlier read.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled, or its deadline passed.</exception>
    public ValueTask<IMessage?> ReadAsync()
    {
        _failure?.Throw();
        if (_waiting is not { } waiting)
        {
            ValueTask<IMessage?> request = ReceiveAsync();
            return request.IsCompletedSuccessfully ? request : KeepFailureAsync(request);
        }

        _waiting = null;
        return ValueTask.FromResult<IMessage?>(waiting);
    }

    /// <summary>The requests, as they arrive.</summary>
    public async IAsyncEnumerable<IMessage> ReadAllAsync(
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        while (await ReadAsync().ConfigureAwait(false) is { } request)
        {
            cancellationToken.ThrowIfCancellationRequested();
            yield return request;
        }
    }

    /// <summary>Sends a reply immediately; waits while the caller does not read.</summary>
    /// <param name="reply">A message of the method's reply type, dynamic or generated.</param>
    /// <param name="compress">False sends it uncompressed where the call's replies are compressed.</param>
    /// <exception cref="RpcException">Internal: not a reply of the method,
    /// or a second one of a method that has one.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled, or its deadline passed.</exception>
    public ValueTask WriteAsync(IMessage reply, bool compress = true)
    {
        Method.CheckReply(reply);
        if (_replied && !Method.Info.IsServerStreaming)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler of {Method.Info.FullName} wrote a second reply, but the method has only one.");
        }

        _replied = true;
        return SendAsync(reply, compress);
    }

    /// <summary>The single request of a method, or an empty message if requests are streamed. Interceptors
    /// see it before the handler.</summary>
    internal async ValueTask<IMessage> PeekAsync()
    {
        if (!Method.Info.IsClientStreaming && await ReadAsync().ConfigureAwait(false) is { } only)
        {
            return _waiting = only;
        }

        return new DynamicMessage(Method.Info.RequestType);
    }

    /// <summary>Replaces the single request.</summary>
    internal void Replace(IMessage request)
    {
        if (_waiting is not null)
        {
            _waiting = request;
        }
    }

    /// <summary>Refuses an end without the reply that the caller waits for.</summary>
    internal void CheckEnd()
    {
        if (!_replied && !Method.Info.IsServerStreaming)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler of {Method.Info.FullName} ended without a reply; "
                + "write one, even an empty one.");
        }
    }

    // After a failed read, a further read must throw again: returning null would look like the end of the
    // stream.
    private async ValueTask<IMessage?> KeepFailureAsync(ValueTask<IMessage?> request)
    {
        try
        {
            return await request.ConfigureAwait(false);
        }
        catch (Exception e)
        {
            _failure = ExceptionDispatchInfo.Capture(e);
            throw;
        }
    }

    /// <summary>The next request; null after the last.</summary>
    internal abstract ValueTask<IMessage?> ReceiveAsync();

    /// <summary>Sends the headers before the first reply, if the protocol can send them separately. Not while
    /// a reply is being sent.</summary>
    internal virtual ValueTask BeginAsync() => default;

    /// <summary>Sends a reply that was checked.</summary>
    internal abstract ValueTask SendAsync(IMessage reply, bool compress);
}
