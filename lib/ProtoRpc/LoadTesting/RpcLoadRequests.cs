using System.Threading.Channels;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

/// <summary>The requests of a load test. They are encoded before they are sent, so that encoding is not part
/// of a call. Thread-safe.</summary>
/// <example><code>
/// RpcLoadRequests requests = RpcLoadRequests.PerCall(
///     method, number => [new PlaceRequest { Order = new Order { Id = $"o{number}" } }]);
/// </code></example>
public abstract class RpcLoadRequests
{
    /// <summary>The maximum size of the encoded requests of one target: 64 MiB.</summary>
    public const int MaxBytes = 64 * 1024 * 1024;

    private protected RpcLoadRequests()
    {
    }

    /// <summary>Creates requests that are the same for every call.</summary>
    /// <param name="method">The method.</param>
    /// <param name="messages">The messages of a call: one, or any number for a client-streaming method. Each
    /// is a message, or an object or dictionary with its fields.</param>
    /// <exception cref="RpcException">InvalidArgument: a message does not fit the method's request type, or
    /// several messages are given for a method with one.</exception>
    public static RpcLoadRequests Same(RpcMethodInfo method, params IReadOnlyList<object> messages)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(messages);
        return new RepeatedRequests([Encode(method, messages)]);
    }

    /// <summary>Creates requests that are sent in turn, starting again after the last one.</summary>
    /// <param name="method">The method.</param>
    /// <param name="requests">The messages of each call, as in <see cref="Same(RpcMethodInfo,
    /// IReadOnlyList{object})"/>; at least one.</param>
    /// <exception cref="RpcException">InvalidArgument: a message does not fit the method. ResourceExhausted:
    /// the requests are larger than <see cref="MaxBytes"/>.</exception>
    public static RpcLoadRequests InTurn(
        RpcMethodInfo method, IEnumerable<IReadOnlyList<object>> requests)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(requests);
        List<LoadRequest> all = [];
        long bytes = 0;
        foreach (IReadOnlyList<object> messages in requests)
        {
            LoadRequest request = Encode(method, messages);
            bytes += request.Bytes;
            if (bytes > MaxBytes)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"The requests for {method.FullName} have more than {MaxBytes:N0} bytes. "
                    + "Give fewer or smaller ones; they are sent in turn.");
            }

            all.Add(request);
        }

        ArgumentOutOfRangeException.ThrowIfZero(all.Count, nameof(requests));
        return new RepeatedRequests(all);
    }

    /// <summary>Creates random valid requests of the method: 100 different ones that are sent in
    /// turn.</summary>
    /// <param name="method">The method.</param>
    /// <param name="options">The seed and size; null for the defaults.</param>
    /// <exception cref="RpcException">InvalidArgument: an option is out of range, or the type has no valid
    /// message of that size.</exception>
    public static RpcLoadRequests Random(RpcMethodInfo method, RpcRandomMessageOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(method);
        options ??= new RpcRandomMessageOptions();
        options.Check();
        RandomMessageSource random = new(options.Seed, options.MaxBytes);
        int length = method.IsClientStreaming ? options.StreamLength : 1;
        int calls = (int)Math.Clamp(
            MaxBytes / ((long)length * options.MaxBytes), 1, RpcRandomMessageOptions.Requests);
        return InTurn(method, Enumerable.Range(0, calls).Select(_ => (IReadOnlyList<object>)
            [.. Enumerable.Range(0, length).Select(_ => random.Make(method.RequestType))]));
    }

    /// <summary>Creates the requests with a function, new ones for each call.</summary>
    /// <param name="method">The method.</param>
    /// <param name="create">Returns the messages of a call by its number, from 1, as in <see
    /// cref="Same(RpcMethodInfo, IReadOnlyList{object})"/>. Several threads call it at the same time, each
    /// before the latency of its call begins. An RpcException counts as a failed call; any other exception
    /// ends the test.</param>
    public static RpcLoadRequests PerCall(RpcMethodInfo method, Func<long, IReadOnlyList<object>> create)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(create);
        return new CreatedRequests(method, create);
    }

    /// <summary>Returns the next request. Waits if it is not ready.</summary>
    /// <param name="cancellation">Ends the wait.</param>
    internal abstract LoadRequest Next(CancellationToken cancellation);

    /// <inheritdoc cref="Next"/>
    internal abstract ValueTask<LoadRequest> NextAsync(CancellationToken cancellation);

    /// <summary>The number of calls that waited for their request.</summary>
    internal virtual long Starved => 0;

    /// <summary>Converts and encodes the messages of one call.</summary>
    /// <exception cref="RpcException">InvalidArgument: a message does not fit the method.</exception>
    internal static LoadRequest Encode(RpcMethodInfo method, IReadOnlyList<object> messages)
    {
        if (!method.IsClientStreaming && messages.Count != 1)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
                $"{method.FullName} takes one request, not {messages.Count}. "
                + "Give one message for each call.");
        }

        IMessage[] encoded = new IMessage[messages.Count];
        long bytes = 0;
        for (int i = 0; i < encoded.Length; i++)
        {
            encoded[i] = Encode(method, messages[i], out int length);
            bytes += length;
        }

        return new LoadRequest(encoded, bytes);
    }

    private static OpaqueMessage Encode(RpcMethodInfo method, object value, out int length)
    {
        if (value is not IMessage message)
        {
            message = new MessageMapper { TakesRows = false }.ToMessage(method.RequestType, value);
        }
        else if (message.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} takes the message {method.RequestType.FullName}, "
                + $"not {message.Descriptor.FullName}.");
        }
        else
        {
            MessageChecks.RequireInitialized(message, method.RequestType);
        }

        using EncodedMessage encoded = EncodedMessage.From(message);
        length = encoded.Length;
        return new OpaqueMessage(method.RequestType, encoded.ToArray());
    }
}

/// <summary>The encoded messages of one call.</summary>
/// <param name="Messages">The messages; one for a method without a request stream.</param>
/// <param name="Bytes">Their bytes.</param>
internal sealed record LoadRequest(IMessage[] Messages, long Bytes);

/// <summary>Requests that one thread creates while the test runs, because scripts can only run on the thread
/// of their shell. A limited number is created in advance.</summary>
internal sealed class QueuedRequests : RpcLoadRequests
{
    private const int MaxQueued = 1000;

    private readonly Channel<LoadRequest> _queue = Channel.CreateUnbounded<LoadRequest>(
        new UnboundedChannelOptions { SingleWriter = true });

    private long _queuedBytes;
    private long _starved;

    /// <summary>Whether the next request may be added: fewer are queued than 1,000 requests and
    /// 64 MiB.</summary>
    public bool WantsMore => _queue.Reader.Count < MaxQueued && Volatile.Read(ref _queuedBytes) < MaxBytes;

    internal override long Starved => Volatile.Read(ref _starved);

    /// <summary>Adds the request of the next call.</summary>
    /// <exception cref="RpcException">InvalidArgument: not a request of the method.</exception>
    public void Add(RpcMethodInfo method, IReadOnlyList<object> messages)
    {
        LoadRequest request = Encode(method, messages);
        Interlocked.Add(ref _queuedBytes, request.Bytes);
        _queue.Writer.TryWrite(request);
    }

    internal override LoadRequest Next(CancellationToken cancellation) =>
        _queue.Reader.TryRead(out LoadRequest? request)
            ? Taken(request)
            : NextAsync(cancellation).AsTask().GetAwaiter().GetResult();

    internal override async ValueTask<LoadRequest> NextAsync(CancellationToken cancellation)
    {
        if (!_queue.Reader.TryRead(out LoadRequest? request))
        {
            Interlocked.Increment(ref _starved);
            request = await _queue.Reader.ReadAsync(cancellation).ConfigureAwait(false);
        }

        return Taken(request);
    }

    private LoadRequest Taken(LoadRequest request)
    {
        Interlocked.Add(ref _queuedBytes, -request.Bytes);
        return request;
    }
}

/// <summary>Requests that the callers make before they call.</summary>
internal sealed class CreatedRequests(RpcMethodInfo method, Func<long, IReadOnlyList<object>> create)
    : RpcLoadRequests
{
    private long _number;

    internal override LoadRequest Next(CancellationToken cancellation) =>
        Encode(method, create(Interlocked.Increment(ref _number)));

    internal override ValueTask<LoadRequest> NextAsync(CancellationToken cancellation) =>
        ValueTask.FromResult(Next(cancellation));
}

/// <summary>Requests that were made before the test.</summary>
internal sealed class RepeatedRequests(IReadOnlyList<LoadRequest> requests) : RpcLoadRequests
{
    private readonly LoadRequest[] _requests = [.. requests];
    private long _next = -1;

    internal override LoadRequest Next(CancellationToken cancellation) => _requests.Length == 1
        ? _requests[0]
        : _requests[Interlocked.Increment(ref _next) % _requests.Length];

    internal override ValueTask<LoadRequest> NextAsync(CancellationToken cancellation) =>
        ValueTask.FromResult(Next(cancellation));
}
