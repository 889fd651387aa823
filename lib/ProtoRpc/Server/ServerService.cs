using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>A service of a server: its methods by name.</summary>
internal sealed class ServerService(RpcServiceInfo info, Guid interfaceId) : IIntercepted
{
    private const int MaxShortName = 128;

    // While the server listens, the dictionary is replaced and never changed. Each call reads the field once.
    private volatile Dictionary<string, ServerMethod> _methods = new(StringComparer.Ordinal);
    private RpcHandler? _fallback;
    private bool _isComplete;

    public RpcServiceInfo Info { get; } = info;

    public Guid InterfaceId { get; } = interfaceId;

    public void Add(ServerMethod method)
    {
        if (!_methods.TryAdd(method.Info.Name, method))
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists, $"{method.Info.FullName} has a handler already.");
        }
    }

    /// <summary>Whether a method has its own handler.</summary>
    public bool Has(RpcMethodInfo method) => _methods.ContainsKey(method.Name);

    public void AddFallback(RpcHandler handler) => _fallback = handler;

    /// <summary>Completes the methods: a method without a handler gets the common one, or returns
    /// Unimplemented. Adds the interceptors to all. A second call, after an endpoint could not be bound, does
    /// nothing.</summary>
    public void Complete(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        if (_isComplete)
        {
            return;
        }

        _isComplete = true;
        _methods = Completed(_methods, _fallback, interceptors);
    }

    /// <summary>The methods with other handlers, for <see cref="Publish"/>.</summary>
    /// <param name="handlers">The handlers by the bare names of their methods; null to keep the current
    /// ones.</param>
    /// <param name="interceptors">The interceptors.</param>
    /// <exception cref="RpcException">A handler does not fit its method.</exception>
    public Dictionary<string, ServerMethod> Prepare(
        IReadOnlyDictionary<string, RpcMethodHandler>? handlers,
        IReadOnlyList<IRpcInterceptor> interceptors) =>
        handlers is null
            ? _methods.ToDictionary(
                pair => pair.Key, pair => pair.Value.With(interceptors), StringComparer.Ordinal)
            : Completed(
                handlers.ToDictionary(
                    pair => pair.Key, pair => pair.Value.Bind(Info.FindMethod(pair.Key)!),
                    StringComparer.Ordinal),
                fallback: null, interceptors);

    /// <summary>Serves calls that begin later with these methods.</summary>
    public void Publish(Dictionary<string, ServerMethod> methods) => _methods = methods;

    /// <summary>Puts other interceptors around methods of ProtoRpc's own.</summary>
    public void Intercept(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        foreach (ServerMethod method in _methods.Values)
        {
            method.Intercept(interceptors);
        }
    }

    /// <summary>The method of a bare name, spelt as in the .proto.</summary>
    /// <exception cref="MissingMethodException">The method does not exist. The original's clients expect this
    /// exception type.</exception>
    public ServerMethod Get(string name) => GetOrNull(name)
        ?? throw new MissingMethodException(
            $"Method '{Info.FullName}.{name}' not found. The service has: "
            + $"{string.Join(", ", Info.Methods.Select(m => m.Name))}.");

    /// <summary>The method with a name; null if it does not exist.</summary>
    public ServerMethod? GetOrNull(string name) => _methods.GetValueOrDefault(name);

    /// <summary>The method with a name in octets; null if the name is long or not ASCII, or if the method
    /// does not exist.</summary>
    public ServerMethod? Find(ReadOnlySpan<byte> name)
    {
        Span<char> text = stackalloc char[MaxShortName];
        return Ascii.ToUtf16(name, text, out int length) == OperationStatus.Done
            && _methods.GetAlternateLookup<ReadOnlySpan<char>>()
                .TryGetValue(text[..length], out ServerMethod? method)
                ? method
                : null;
    }

    /// <summary>The method with a name, ignoring case if the exact name does not exist; null if it does not
    /// exist.</summary>
    public ServerMethod? Find(string name) =>
        Info.FindMethod(name) is { } method ? _methods.GetValueOrDefault(method.Name) : null;

    private Dictionary<string, ServerMethod> Completed(
        Dictionary<string, ServerMethod> methods, RpcHandler? fallback,
        IReadOnlyList<IRpcInterceptor> interceptors)
    {
        foreach (RpcMethodInfo method in Info.Methods)
        {
            methods.TryAdd(
                method.Name,
                new ServerMethod(method, method.IsClientStreaming ? NotHandled : fallback ?? NotHandled));
            methods[method.Name].Intercept(interceptors);
        }

        return methods;
    }

    private static ValueTask<Google.Protobuf.IMessage> NotHandled(
        RpcServerCallContext context, Google.Protobuf.IMessage request) =>
        throw new RpcException(
            RpcStatusCode.Unimplemented, $"{context.Method.FullName} has no handler on this server.")
        {
            IsOfCaller = true,
        };
}

/// <summary>A method with what handles it: every protocol of a server
/// (native, HTTP, gRPC) calls through here.</summary>
internal sealed class ServerMethod : IIntercepted
{
    private readonly MessageParser? _requestParser;
    private readonly RpcHandler _handler;
    private readonly RpcStreamHandler _streamHandler;
    private bool _isSeen;
    private bool _isIntercepted;

    /// <summary>A method whose handler receives a message and returns one.</summary>
    public ServerMethod(RpcMethodInfo info, RpcHandler handler, MessageParser? requestParser = null)
    {
        Info = info;
        _handler = Chain = handler;
        _streamHandler = StreamChain = async (context, stream) =>
        {
            if (await stream.ReadAsync().ConfigureAwait(false) is { } request)
            {
                await stream.WriteAsync(await handler(context, request).ConfigureAwait(false))
                    .ConfigureAwait(false);
            }
        };
        _requestParser = requestParser;
    }

    /// <summary>A method whose handler has the streams of its messages.</summary>
    public ServerMethod(RpcMethodInfo info, RpcStreamHandler handler, MessageParser? requestParser = null)
    {
        Info = info;
        _handler = Chain = async (context, request) =>
        {
            UnaryStream stream = new(this, context, request);
            await handler(context, stream).ConfigureAwait(false);
            stream.CheckEnd();
            return stream.Reply!;
        };
        _streamHandler = StreamChain = handler;
        _requestParser = requestParser;
    }

    /// <summary>A method with handlers for both forms: for a message, and for the streams of
    /// messages.</summary>
    public ServerMethod(RpcMethodInfo info, RpcHandler handler, RpcStreamHandler streamHandler)
    {
        Info = info;
        _handler = Chain = handler;
        _streamHandler = StreamChain = streamHandler;
    }

    public RpcMethodInfo Info { get; }

    /// <summary>The handler for a message that gives a message,
    /// with the server's interceptors around it once the server listens.</summary>
    public RpcHandler Chain { get; private set; }

    /// <summary>The same for streams of messages.</summary>
    public RpcStreamHandler StreamChain { get; private set; }

    /// <summary>Puts interceptors around the handler, the first one outermost, replacing others.</summary>
    public void Intercept(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        _isSeen = interceptors.Any(interceptor => interceptor is not IPassesBytes);
        _isIntercepted = interceptors.Count > 0;
        Chain = InterceptorChain.Around(_isSeen && GivesBytes ? ReadReplyAsync : _handler, interceptors);
        StreamChain = InterceptorChain.Around(_streamHandler, interceptors);
    }

    /// <summary>The same method with other interceptors, for calls that begin later.</summary>
    public ServerMethod With(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        ServerMethod copy = (ServerMethod)MemberwiseClone();
        copy.Intercept(interceptors);
        return copy;
    }

    /// <summary>Runs the handler with the interceptors around it.</summary>
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request)
    {
        if (!Info.IsUnary)
        {
            throw NativeStreaming.Refusal(Info, context.Endpoint);
        }

        context.Clock.RequireTime();
        context.RunsHandler = !IsBuiltIn;
        return Chain(context, request);
    }

    /// <summary>The same for a method of any kind, on an endpoint that carries its streams. The replies are
    /// in the stream when it ends.</summary>
    public async ValueTask InvokeAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        context.Clock.RequireTime();
        context.RunsHandler = !IsBuiltIn;
        await StreamChain(context, stream).ConfigureAwait(false);
        context.RunsHandler = false;
        stream.CheckEnd();
    }

    /// <summary>Whether ProtoRpc itself implements the method.</summary>
    public bool IsBuiltIn { get; init; }

    /// <summary>Whether calls of the method neither wait nor are rejected while the server is too busy,
    /// because they report the server's state.</summary>
    public bool IsAlwaysAdmitted { get; init; }

    /// <summary>Whether the handler reads the request's bytes itself,
    /// from <see cref="RpcServerCallContext.Body"/>.</summary>
    public bool TakesStream { get; init; }

    /// <summary>Whether the handler passes requests on without reading them. A request in parts is then in
    /// <see cref="RpcServerCallContext.Body"/>, and its message is empty.</summary>
    public bool TakesBytes { get; init; }

    /// <summary>Reads requests of a handler that does not keep them, without copying large parts; returns
    /// null for bytes that the parser must read. Null for none.</summary>
    public Func<ReadOnlyMemory<byte>, IMessage?>? ReadInPlace { get; init; }

    /// <summary>Whether a call completes synchronously and runs no code of the application, because the reply
    /// is encoded and there are no interceptors.</summary>
    public bool EndsAtOnce => IsCanned && !_isIntercepted;

    /// <summary>Whether the handler's reply was encoded before its calls.</summary>
    public bool IsCanned { get; init; }

    /// <summary>Whether replies of the handler may be opaque.</summary>
    public bool GivesBytes { get; init; }

    /// <summary>Reads a request from memory that is valid until the call ends.</summary>
    /// <inheritdoc cref="ReadRequest(ReadOnlySpan{byte}, RpcServerCallContext)"/>
    public IMessage ReadRequest(ReadOnlyMemory<byte> body, RpcServerCallContext context) =>
        IsOpaque ? new OpaqueMessage(Info.RequestType, body)
        : !_isSeen && ReadInPlace?.Invoke(body) is { } request ? request
        : ReadRequest(body.Span, context);

    /// <summary>Reads a request as the type that the handler was registered with.</summary>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a message of the request
    /// type.</exception>
    public IMessage ReadRequest(ReadOnlySpan<byte> body, RpcServerCallContext context)
    {
        if (IsOpaque)
        {
            return new OpaqueMessage(Info.RequestType, body.ToArray());
        }

        if (TakesStream)
        {
            context.Body = new MemoryStream(body.ToArray(), writable: false);
            return new DynamicMessage(Info.RequestType);
        }

        RequestDecoding decoding = new(context);
        Action? look = decoding.LookFor(body.Length);
        IMessage request = _requestParser is null
            ? DynamicMessage.Parse(Info.RequestType, body, context.Limits.MaxMessageElements, look)
            : Parsed(_requestParser, body, context.Limits, look);
        decoding.End();
        return request;
    }

    /// <summary>The same for bytes that lie in several pieces.</summary>
    public IMessage ReadRequest(in ReadOnlySequence<byte> body, RpcServerCallContext context)
    {
        using WholeBytes whole = new(Info.RequestType, body);
        return ReadRequest(whole.Span, context);
    }

    /// <summary>The same for a request that is too large for memory, or was.</summary>
    public IMessage ReadRequest(Stream body, RpcServerCallContext context)
    {
        if (IsOpaque)
        {
            context.Body = body;
            return new OpaqueMessage(Info.RequestType, default);
        }

        if (TakesStream)
        {
            context.Body = body;
            return new DynamicMessage(Info.RequestType);
        }

        // Google.Protobuf limits neither elements nor map entries. It may parse the stream only if the length
        // rules out that they exceed the limits.
        if (_requestParser is { } parser && !GeneratedLimits.MayExceed(
            Info.RequestType, body.Length, context.Limits.MaxMessageElements,
            context.Limits.MaxGeneratedMapEntries))
        {
            RequestDecoding decoding = new(context);
            IMessage request = Parsed(parser, body, static (parser, bytes) => parser.ParseFrom(bytes));
            decoding.End();
            return request;
        }

        context.Memory?.HoldDecoded(body.Length);
        byte[] bytes = new byte[body.Length];
        body.ReadExactly(bytes);
        return ReadRequest(bytes.AsMemory(), context);
    }

    /// <summary>The same for a request in any format.</summary>
    public IMessage ReadRequest(
        MessageFormat format, ReadOnlySequence<byte> body, FormatOptions options,
        RpcServerCallContext context)
    {
        if (ReferenceEquals(format, MessageFormats.Binary))
        {
            return ReadRequest(body, context);
        }

        if (TakesStream)
        {
            return ReadRequest(format.Read(Info.RequestType, body, options).ToByteArray(), context);
        }

        RequestDecoding decoding = new(context);
        IMessage request = _requestParser?.ParseFrom(ReadOnlySequence<byte>.Empty)
            ?? new DynamicMessage(Info.RequestType);
        format.Read(
            body, request,
            decoding.LookFor(body.Length) is { } look ? options with { Look = look } : options);
        decoding.End();
        return request;
    }

    /// <summary>Rejects a reply of another type, or an incomplete one, before any byte of it is
    /// written.</summary>
    /// <param name="reply">The handler's reply.</param>
    /// <param name="context">The call, which records a reply that was already checked.</param>
    public void CheckReply(IMessage? reply, RpcServerCallContext? context = null)
    {
        if (reply is not null && ReferenceEquals(reply, context?.CheckedReply))
        {
            return;
        }

        if (reply is null)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler of {Info.FullName} returned nothing; return a message, even an empty one.");
        }

        if (reply.Descriptor.FullName != Info.ReplyType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler of {Info.FullName} returned the message {reply.Descriptor.FullName} "
                + $"and not {Info.ReplyType.FullName}.");
        }

        MessageChecks.RequireInitialized(reply, Info.ReplyType);
    }

    /// <summary>Whether the handler expects a generated type.</summary>
    public bool IsTyped => _requestParser is not null;

    // Interceptors read the messages that they see, and may keep them.
    private bool IsOpaque => TakesBytes && !_isSeen;

    private async ValueTask<IMessage> ReadReplyAsync(RpcServerCallContext context, IMessage request)
    {
        IMessage reply = await _handler(context, request).ConfigureAwait(false);
        if (reply is not OpaqueMessage opaque)
        {
            return reply;
        }

        RequestDecoding decoding = new(context);
        DynamicMessage read = opaque.ToDynamic(context.Limits.MaxMessageElements);
        decoding.End();
        return read;
    }

    private IMessage Parsed(
        MessageParser parser, ReadOnlySpan<byte> body, RpcLimits limits, Action? look)
    {
        GeneratedLimits.Check(
            Info.RequestType, body, limits.MaxMessageElements, limits.MaxGeneratedMapEntries, look);
        return Parsed(parser, body, static (parser, bytes) => parser.ParseFrom(bytes));
    }

    // Generic over the source, so that streams and spans share the checks. The lambdas capture nothing, so
    // they are allocated once.
    private IMessage Parsed<TBody>(
        MessageParser parser, TBody body, Func<MessageParser, TBody, IMessage> parse)
        where TBody : allows ref struct
    {
        try
        {
            IMessage request = parse(parser, body);
            MessageChecks.RequireInitialized(request, Info.RequestType);
            return request;
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The request is not a message {Info.RequestType.FullName}: {e.Message}", e);
        }
    }
}

/// <summary>Counts the memory of decoding a request, and cancels the decoding when the call has
/// ended.</summary>
/// <remarks>A request is decoded on one thread. The bytes that the thread allocates meanwhile are the size of
/// the message, in every format and for every kind of message; arrays of lists that grew are counted as
/// well.</remarks>
internal struct RequestDecoding(RpcServerCallContext context)
{
    private readonly long _start = GC.GetAllocatedBytesForCurrentThread();
    private LongRequest? _long;

    /// <summary>The function that the decoder of a long request calls repeatedly; null for a short
    /// one.</summary>
    public Action? LookFor(long bytes)
    {
        if (bytes <= ElementBudget.BytesPerLook)
        {
            return null;
        }

        _long = new LongRequest(context, _start);
        return _long.Look;
    }

    /// <summary>Counts a message that is decoded.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the message does not fit.</exception>
    public readonly void End()
    {
        if (_long is not null)
        {
            _long.Count();
        }
        else
        {
            context.Memory?.HoldDecoded(GC.GetAllocatedBytesForCurrentThread() - _start);
        }
    }

    private sealed class LongRequest(RpcServerCallContext context, long start)
    {
        private readonly RequestMemory.Share? _memory = context.Memory;
        private long _counted = start;

        public void Look()
        {
            Count();
            context.Clock.Aborted.ThrowIfCancellationRequested();
            context.Clock.RequireTime();
        }

        public void Count()
        {
            long allocated = GC.GetAllocatedBytesForCurrentThread();
            _memory?.HoldDecoded(allocated - _counted);
            _counted = allocated;
        }
    }
}

/// <summary>The streams of a call with one request and one reply,
/// for a handler that is written for streams.</summary>
internal sealed class UnaryStream(ServerMethod method, RpcServerCallContext context, IMessage request)
    : RpcServerStream(method)
{
    private IMessage? _request = request;

    /// <summary>The handler's reply; null for none.</summary>
    public IMessage? Reply { get; private set; }

    internal override ValueTask<IMessage?> ReceiveAsync()
    {
        context.CancellationToken.ThrowIfCancellationRequested();
        return ValueTask.FromResult(Interlocked.Exchange(ref _request, null));
    }

    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        context.CancellationToken.ThrowIfCancellationRequested();
        if (!compress)
        {
            context.ReplyCompression = RpcCompression.None;
        }

        Reply = reply;
        context.CheckedReply = reply;
        return default;
    }
}
