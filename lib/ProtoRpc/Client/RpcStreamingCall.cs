using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Client;
using ProtoRpc.Transports;

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
    public TReply Current => _current ?? throw new InvalidOperationException("No reply has been read yet.");

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

    // Sends the requests as they arrive, and cancels the call if their source fails. A source that ignores
    // the cancellation may return after the call was disposed.
    internal async Task SendAllAsync(IAsyncEnumerable<TRequest> requests, CancellationTokenSource end)
    {
        try
        {
            await foreach (TRequest request in requests.WithCancellation(end.Token).ConfigureAwait(false))
            {
                if (end.IsCancellationRequested || !await SendAsync(
                    request, compress: true, CancellationToken.None).ConfigureAwait(false))
                {
                    return;
                }
            }

            if (!end.IsCancellationRequested)
            {
                await CompleteAsync(CancellationToken.None).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The call ended before all requests were sent.
        }
        catch when (!end.IsCancellationRequested)
        {
            await end.CancelAsync().ConfigureAwait(false);
            throw;
        }
    }
}

/// <summary>A streaming call without generated classes. A request is a message, or an object or dictionary
/// with its fields. Disposing the call before its end cancels it on the server.</summary>
/// <remarks>You can send and read in parallel, but only one send and one read at a time.</remarks>
/// <example><code>
/// await using RpcStreamingCall call = await client.OpenAsync("Track");
/// await call.SendAsync(new { id = "o1" });
/// await call.CompleteAsync();
/// await foreach (DynamicMessage reply in call.ReadAllAsync())
/// {
///     Console.WriteLine(reply["text"]);
/// }
/// </code></example>
public sealed class RpcStreamingCall : RpcStreamingCall<object, DynamicMessage>
{
    internal RpcStreamingCall(StreamingCallParts<DynamicMessage> parts)
        : base(parts)
    {
    }
}

/// <summary>The parts of a streaming call.</summary>
/// <param name="Method">The method.</param>
/// <param name="Stream">The transport's call.</param>
/// <param name="ToRequest">Converts and checks a request.</param>
/// <param name="ToReply">Converts a reply to the type that the caller requires.</param>
/// <param name="Locate">Adds the endpoint and method to a failure.</param>
/// <param name="Ended">Called once with the status of the call and its failure; the status is Cancelled if
/// the caller leaves early.</param>
internal sealed record StreamingCallParts<TReply>(
    RpcMethodInfo Method,
    RpcClientStream Stream,
    Func<object, IMessage> ToRequest,
    Func<IMessage?, TReply> ToReply,
    Func<RpcException, RpcException> Locate,
    Action<RpcStatusCode, RpcException?> Ended);

/// <summary>A streaming call on a transport. Reads replies, adds the endpoint and method to failures, and
/// cancels the call with its tokens.</summary>
/// <param name="stream">The transport's call.</param>
/// <param name="end">Cancels the transport's call; disposed with this.</param>
/// <param name="check">Checks a request; null if requests are already checked.</param>
/// <param name="read">Reads a reply.</param>
/// <param name="locate">Adds the endpoint and method to a failure.</param>
internal sealed class ClientStream(
    IRpcStream stream,
    CancellationTokenSource end,
    Func<IMessage, IMessage>? check,
    ReplyReader<IMessage> read,
    Func<RpcException, RpcException> locate)
    : RpcClientStream
{
    private IMessage? _current;
    private long _replies;

    public required RpcEndpoint Endpoint { get; init; }

    /// <summary>The time of the call.</summary>
    public required CallClock Clock { get; init; }

    public override IMessage? Current => _current;

    public override async ValueTask<bool> SendAsync(
        IMessage request, bool compress, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        IMessage message = check is null ? request : check(request);
        using CancellationTokenRegistration _ = EndWith(cancellationToken);
        bool taken = await stream.SendAsync(message, compress).ConfigureAwait(false);
        return taken || !cancellationToken.IsCancellationRequested
            ? taken
            : throw locate(CallErrors.Cancelled(Endpoint, sent: true));
    }

    public override async ValueTask CompleteAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using CancellationTokenRegistration _ = EndWith(cancellationToken);
        await stream.CompleteAsync().ConfigureAwait(false);
    }

    public override async ValueTask<bool> ReadAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        try
        {
            using CancellationTokenRegistration _ = EndWith(cancellationToken);
            if (!await stream.ReadAsync().ConfigureAwait(false))
            {
                return false;
            }

            _current = read(stream.Current);
            _replies++;
            return true;
        }
        catch (RpcException e)
        {
            // The server may notice the deadline first, and its timer may fire a little early. A handler can
            // return the status by itself.
            bool isLate = e.Code == RpcStatusCode.DeadlineExceeded && _replies > 0
                && (!e.IsAnswer || Clock.IsAboutOver);
            throw locate(isLate ? CallErrors.TimedOutAfter(Endpoint, Clock.Timeout, _replies, e) : e);
        }
    }

    public override async ValueTask DisposeAsync()
    {
        await stream.DisposeAsync().ConfigureAwait(false);
        end.Dispose();
    }

    // A message that waits to be sent cannot be taken back, so cancelling it ends the call.
    private CancellationTokenRegistration EndWith(CancellationToken cancellation) =>
        cancellation.UnsafeRegister(static state => ((ClientStream)state!).CancelCall(), this);

    private void CancelCall()
    {
        try
        {
            end.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The call was disposed meanwhile, which also ended it.
        }
    }
}

/// <summary>Cached facts about a generated class.</summary>
internal static class Generated<TMessage>
    where TMessage : class, IMessage<TMessage>, new()
{
    public static readonly MessageDescriptor Descriptor = new TMessage().Descriptor;

    // The class's own parser creates messages faster than new() of a type parameter, which uses reflection.
    public static readonly MessageParser<TMessage> Parser =
        Descriptor.Parser as MessageParser<TMessage> ?? new(() => new TMessage());

    /// <summary>The reader of the previous call, for the next call of the same method; null at
    /// first.</summary>
    public static KnownReader<TMessage>? LastReader { get; set; }
}

/// <summary>The reader of a method's replies, cached for the next call.</summary>
/// <param name="Method">The method.</param>
/// <param name="Limits">The limits for the size of a reply.</param>
/// <param name="Read">Reads a reply.</param>
internal sealed record KnownReader<TReply>(
    RpcMethodInfo Method, RpcLimits Limits, ReplyReader<TReply> Read);
