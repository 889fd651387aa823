using Google.Protobuf.Reflection;
using ProtoRpc.Client;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Schema;
using ProtoRpc.Transports;

namespace ProtoRpc;

public sealed partial class RpcClient
{
    // Limits the question to the server for the type of an Any, which blocks the reader of the message.
    private static readonly TimeSpan SymbolPatience = TimeSpan.FromSeconds(5);

    private readonly RpcSchema? _given;
    private readonly Lock _learning = new();
    private readonly HashSet<FileDescriptor> _learned = [];
    private RpcSchema? _schema;
    private RpcServiceInfo? _service;
    private FurtherTypes? _further;

    /// <summary>The schema for looking up names. Without a given schema, it is null until the first call with
    /// generated messages.</summary>
    public RpcSchema? Schema => _schema;

    /// <summary>The service of bare method names; null for none.</summary>
    public RpcServiceInfo? Service => _service;

    /// <summary>Finds a method by its bare or full name.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names. FailedPrecondition: there is no
    /// schema.</exception>
    public RpcMethodInfo GetMethod(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return Service?.FindMethod(name) ?? RequireSchema().GetMethod(name);
    }

    /// <summary>Reads the schema of the server, for example by gRPC reflection. Later calls look names up in
    /// this schema. If the client already has a schema, the server only adds services that it does not
    /// have.</summary>
    /// <param name="options">The deadline, and whether to wait for the server; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels fetching.</param>
    /// <exception cref="RpcException">Unimplemented: the server or the protocol does not send schemas.
    /// Internal: the server sent one that cannot be read. DeadlineExceeded: the server did not reply in
    /// time.</exception>
    public RpcSchema FetchSchema(
        RpcCallOptions? options = null, CancellationToken cancellationToken = default) =>
        BlockingWait.End(FetchSchemaAsync<BlockingWait>(options, cancellationToken));

    /// <inheritdoc cref="FetchSchema"/>
    public Task<RpcSchema> FetchSchemaAsync(
        RpcCallOptions? options = null, CancellationToken cancellationToken = default) =>
        FetchSchemaAsync<AsyncWait>(options, cancellationToken).AsTask();

    private async ValueTask<RpcSchema> FetchSchemaAsync<TWait>(
        RpcCallOptions? options, CancellationToken cancellation)
        where TWait : struct, IWaitMode => (await FetchAsync<TWait>(
            async (channel, time) => await channel.FetchSchemaAsync<TWait>(time).ConfigureAwait(false),
            options, cancellation).ConfigureAwait(false))!;

    /// <summary>Reads only the part of the server's schema that declares some symbols.</summary>
    /// <param name="symbols">The full names of services, messages or enums.</param>
    /// <param name="options">The deadline, and whether to wait for the server; null for the
    /// defaults.</param>
    /// <param name="cancellation">Cancels fetching.</param>
    /// <returns>Null if the server does not declare one of them, or cannot be asked for symbols.</returns>
    internal Task<RpcSchema?> FetchSymbolsAsync(
        IReadOnlyCollection<string> symbols, RpcCallOptions? options, CancellationToken cancellation) =>
        FetchAsync<AsyncWait>(
            (channel, time) => channel.FetchSymbolsAsync<AsyncWait>(new SymbolQuery(symbols), time),
            options, cancellation).AsTask();

    private async ValueTask<RpcSchema?> FetchAsync<TWait>(
        Func<IRpcChannel, CancellationToken, ValueTask<RpcSchema?>> fetch, RpcCallOptions? options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RequireOpen(cancellation);
        CallClock clock = CallDeadline.Start(options, _limits.CallTimeout, Endpoint).For(cancellation);
        TimeSpan? timeout = options is { Timeout: not null } or { Deadline: not null } ? clock.Timeout : null;
        using CancellationTokenSource time = Within(timeout, cancellation);
        CallAttempts attempts = new(_retry, _channels, clock)
        {
            Waits = options is { WaitForReady: true },
            SharesTime = false,
            Method = "Reading the schema",
        };
        try
        {
            RpcSchema? fetched = await attempts.RunAsync<TWait, RpcSchema?>(() => CancellableAsync(
                () => fetch(attempts.Channel, time.Token), time.Token)).ConfigureAwait(false);
            return fetched is null ? null : Learn(fetched);
        }
        catch (RpcException e)
        {
            throw Failed(e, timeout, time, cancellation);
        }
    }

    /// <summary>Compares the client's schema with the server's. gRPC servers publish it by reflection, HTTP
    /// listeners of ProtoRpc as files.</summary>
    /// <param name="service">The service to compare;
    /// null for that of the client's options, or for all.</param>
    /// <param name="cancellationToken">Cancels the comparison.</param>
    /// <returns>The differences that make calls fail or lose fields; null if the server does not send its
    /// schema.</returns>
    public IReadOnlyList<string>? CompareSchema(
        string? service = null, CancellationToken cancellationToken = default) =>
        BlockingWait.End(CompareSchemaAsync<BlockingWait>(service, cancellationToken));

    /// <inheritdoc cref="CompareSchema"/>
    public Task<IReadOnlyList<string>?> CompareSchemaAsync(
        string? service = null, CancellationToken cancellationToken = default) =>
        CompareSchemaAsync<AsyncWait>(service, cancellationToken).AsTask();

    private async ValueTask<IReadOnlyList<string>?> CompareSchemaAsync<TWait>(
        string? service, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RequireOpen(cancellation);
        RpcSchema ours = RequireSchema();
        IReadOnlyList<RpcServiceInfo> services = service is not null ? [ours.GetService(service)]
            : Service is { } only ? [only]
            : ours.Services;
        CallAttempts attempts = _retry.StartOnce(_channels, Timeout.InfiniteTimeSpan, cancellation);
        try
        {
            RpcSchema? theirs = await CancellableAsync(
                () => attempts.RunAsync<TWait, RpcSchema?>(
                    () => attempts.Channel.FetchSchemaAsync<TWait>(services, cancellation)),
                cancellation).ConfigureAwait(false);
            return theirs is null ? null : SchemaComparison.Compare(services, theirs);
        }
        catch (RpcException) when (!cancellation.IsCancellationRequested)
        {
            // A schema that cannot be read cannot be compared. A ping reports whether the server is
            // reachable.
            return null;
        }
    }

    private static RpcServiceInfo? ServiceOf(RpcSchema? schema, string? name)
    {
        if (schema is null)
        {
            return name is null
                ? null
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"Service '{name}' cannot be looked up without a schema.");
        }

        return name is not null ? schema.GetService(name)
            : schema.Services.Count == 1 ? schema.Services[0]
            : null;
    }

    private RpcSchema Learn(RpcSchema fetched)
    {
        lock (_learning)
        {
            RpcSchema schema = _given is null ? fetched : _given.CompleteWith(fetched, "reflection");
            if (Endpoint.IsGrpc)
            {
                schema.Further = _further ??= new FurtherTypes(AskForSymbols, TimeProvider.System);
            }

            _service = ServiceOf(schema, _options.Service);
            _schema = schema;

            // The new schema does not contain the files that generated messages added.
            _learned.Clear();
            return schema;
        }
    }

    // Blocks the code that reads or writes a message until the server replies.
    private RpcSchema? AskForSymbols(SymbolQuery query)
    {
        RequireOpen(CancellationToken.None);
        using CancellationTokenSource time = new(SymbolPatience);
        CallAttempts attempts = _retry.StartOnce(_channels, SymbolPatience, time.Token);
        return BlockingWait.End(attempts.RunAsync<BlockingWait, RpcSchema?>(
            () => attempts.Channel.FetchSymbolsAsync<BlockingWait>(query, time.Token)));
    }

    // Channels only limit fetching by the limits' call timeout, which may be longer than this timeout.
    private RpcException Failed(
        RpcException error, TimeSpan? timeout, CancellationTokenSource time,
        CancellationToken cancellation) =>
        error.Code == RpcStatusCode.Cancelled && timeout is { } passed && time.IsCancellationRequested
        && !cancellation.IsCancellationRequested
            ? CallErrors.TimedOut(Endpoint, passed, sent: false, error)
            : Locate(error);

    private static CancellationTokenSource Within(TimeSpan? timeout, CancellationToken cancellation)
    {
        CancellationTokenSource source = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        if (timeout is { TotalMilliseconds: >= 0 and < int.MaxValue } time)
        {
            source.CancelAfter(time);
        }

        return source;
    }

    private RpcMethodInfo MethodOf(string name, object request) =>
        MethodOf(name, (request as IMessage)?.Descriptor, null);

    private RpcMethodInfo MethodOf<TReply>(string name, object request)
        where TReply : class, IMessage<TReply>, new() =>
        MethodOf(name, (request as IMessage)?.Descriptor, Generated<TReply>.Descriptor);

    private RpcMethodInfo MethodOf<TRequest, TReply>(string name)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() =>
        MethodOf(name, Generated<TRequest>.Descriptor, Generated<TReply>.Descriptor);

    // Generated messages provide the schema of the files that declare them.
    private RpcMethodInfo MethodOf(string name, MessageDescriptor? request, MessageDescriptor? reply)
    {
        ArgumentNullException.ThrowIfNull(name);
        RpcMethodInfo? method = Find(name)
            ?? (LearnFrom(request) ? Find(name) : null)
            ?? (LearnFrom(reply) ? Find(name) : null);
        return method is null && _schema is null && (request ?? reply) is { } message
            ? throw NotDeclared(name, message)
            : method ?? GetMethod(name);
    }

    private RpcMethodInfo? Find(string name) =>
        Service?.FindMethod(name) ?? _schema?.FindMethod(name);

    // Dynamic messages come from a schema that was given, so their files are not added.
    private bool LearnFrom(MessageDescriptor? message) =>
        message is { ClrType: not null } && LearnFrom(message.File);

    private bool LearnFrom(FileDescriptor file)
    {
        if (file.Services.Count == 0)
        {
            return false;
        }

        lock (_learning)
        {
            if (_learned.Add(file))
            {
                RpcSchema brought = RpcSchema.FromDescriptors(file);
                _schema = _schema is null ? brought : _schema.CompleteWith(brought, "generated");
            }
        }

        return true;
    }

    private static void RequireReply<TReply>(RpcMethodInfo method)
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(method);
        string wanted = Generated<TReply>.Descriptor.FullName;
        if (wanted != method.ReplyType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} returns {method.ReplyType.FullName}, not {wanted}. "
                + "Call it with that type.");
        }
    }

    private static void RequireRequest(RpcMethodInfo method, MessageDescriptor request)
    {
        ArgumentNullException.ThrowIfNull(method);
        if (request.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} takes the message {method.RequestType.FullName}, "
                + $"not {request.FullName}.");
        }
    }

    private RpcException NotDeclared(string name, MessageDescriptor message) => new(
        RpcStatusCode.FailedPrecondition,
        $"The method '{name}' is unknown: the client of '{Endpoint}' has no schema, and the file of "
        + $"{message.FullName}, '{message.File.Name}', declares no service. Give {nameof(Connect)} a schema; "
        + $"{nameof(RpcSchema)}.{nameof(RpcSchema.FromDescriptors)} makes one from the generated file that "
        + "declares the service.", Endpoint);

    private RpcSchema RequireSchema() => _schema
        ?? throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"The connection to {Endpoint} has no schema to look names up in. Give {nameof(Connect)} a "
            + $"schema, or call {nameof(FetchSchema)} if the server publishes its schema.");

    /// <summary>Pings the server through the client's service, optionally with a request for its ping
    /// handlers. Without a schema, this only checks whether a server of the native protocol
    /// replies.</summary>
    /// <param name="ping">The options of the ping; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the ping.</param>
    /// <exception cref="RpcException">The server did not answer, or its ping handlers failed. NotFound: the
    /// server does not serve the service of the ping's or the client's options.</exception>
    public RpcPingResult Ping(RpcPingOptions? ping = null, CancellationToken cancellationToken = default) =>
        BlockingWait.End(PingAsync<BlockingWait>(ping, cancellationToken));

    /// <inheritdoc cref="Ping"/>
    public Task<RpcPingResult> PingAsync(
        RpcPingOptions? ping = null, CancellationToken cancellationToken = default) =>
        PingAsync<AsyncWait>(ping, cancellationToken).AsTask();

    private async ValueTask<RpcPingResult> PingAsync<TWait>(
        RpcPingOptions? ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        PingSpec spec = SpecOf(ping, cancellation);
        CallAttempts attempts = _retry.StartOnce(_channels, spec.Timeout, cancellation);
        try
        {
            return Answered(await CancellableAsync(
                () => attempts.RunAsync<TWait, RpcPingResult>(() => attempts.Channel.PingAsync<TWait>(
                    spec with { Timeout = attempts.Left }, cancellation)),
                cancellation).ConfigureAwait(false));
        }
        catch (RpcException e)
        {
            throw Locate(e);
        }
    }

    private PingSpec SpecOf(RpcPingOptions? ping, CancellationToken cancellation)
    {
        ping ??= new RpcPingOptions();
        RequireOpen(cancellation);
        RpcMethodInfo method = PingProtocol.InfoIn(_schema);
        if (ping.Request is { } request && request.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A ping sends the message {method.RequestType.FullName}, "
                + $"not {request.Descriptor.FullName}.");
        }

        try
        {
            string? service = ping.Service;
            RpcServiceInfo? through = service is null
                ? Service ?? _schema?.Services.FirstOrDefault()
                : _schema?.GetService(service);
            service ??= _options.Service is { } name ? Service?.FullName ?? name : null;
            return new PingSpec(
                through,
                through is null ? service : service is null ? null : through.FullName,
                ping.Timeout ?? _limits.CallTimeout)
            {
                Request = ping.Request,
            };
        }
        catch (RpcException e)
        {
            throw Locate(e);
        }
    }

    private RpcPingResult Answered(RpcPingResult result) => result.Received is { } received
        ? result with
        {
            Reply = ReplyParser.Parse(
                PingProtocol.InfoIn(_schema), new ReplyBody(received.ToByteArray()), _limits),
        }
        : result;

    /// <summary>A unique key for each client.</summary>
    internal Guid Key { get; } = Guid.NewGuid();

    /// <summary>The maximum size of a message.</summary>
    internal int MaxMessageBytes => _limits.MaxMessageBytes;

    /// <summary>Whether interceptors see the calls and parse their messages.</summary>
    internal bool IsSeen => _interceptors is not null;

    /// <summary>Forwards a call, and blocks until its reply.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">The request.</param>
    /// <param name="read">Converts the bytes of the reply, unless an interceptor parses it.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="cancellation">Cancels the call.</param>
    internal IMessage Forward(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        Call(method, Passed(request), IsSeen ? DynamicReader(method) : read, options, cancellation);

    /// <summary>Forwards a call.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, IMessage request, RpcCallOptions options, CancellationToken cancellation) =>
        CallAsync(method, Passed(request), ForwardReader(method), options, cancellation);

    /// <summary>Forwards a call whose request is read from a stream.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, Stream request, RpcCallOptions options, CancellationToken cancellation) =>
        UploadAsync(method, request, ForwardReader(method), options, cancellation);

    /// <summary>Begins to forward a call of any kind of method.</summary>
    internal async Task<RpcStreamingCall<object, IMessage>> OpenForwardAsync(
        RpcMethodInfo method, RpcCallOptions options, CancellationToken cancellation) =>
        new(await BeginAsync<AsyncWait, IMessage>(method, ForwardReader(method), options, cancellation)
            .ConfigureAwait(false));

    /// <summary>The request as this client forwards it.</summary>
    internal IMessage Passed(IMessage request) =>
        !IsSeen || request is not OpaqueMessage opaque
            ? request
            : DynamicMessage.Parse(opaque.Type, opaque.Bytes.Span, _limits.MaxMessageElements);

    /// <summary>The binary form of a reply, in separate memory.</summary>
    internal OpaqueMessage Owned(RpcMethodInfo method, ReplyBody body) =>
        new(method.ReplyType, ToBinary(method, body.Format is null ? body.Copy() : body));

    /// <summary>The binary form of a reply.</summary>
    /// <returns>Valid as long as the body.</returns>
    internal ReadOnlyMemory<byte> ToBinary(RpcMethodInfo method, ReplyBody body) =>
        ReplyParser.ToBinary(method, body, _limits);

    /// <summary>Finds a method of generated code by its full name.</summary>
    /// <param name="name">The full name.</param>
    /// <param name="files">Generated files that may declare the method, if the client does not know it
    /// yet.</param>
    /// <returns>Null if neither the client's schema nor the files declare the method.</returns>
    internal RpcMethodInfo? FindStubMethod(string name, params IEnumerable<FileDescriptor> files)
    {
        RpcMethodInfo? method = _schema?.FindMethod(name);
        return method ?? files.Where(LearnFrom).Select(_ => _schema!.FindMethod(name))
            .FirstOrDefault(found => found is not null);
    }

    /// <summary>Creates a reader that reads replies with the parser of a generated class.</summary>
    internal ReplyReader<IMessage> StubReader(RpcMethodInfo method, MessageParser parser) =>
        body => ReplyParser.Parse(method, parser, body, _limits);

    /// <summary>Makes a unary call for generated code.</summary>
    internal ValueTask<IMessage> CallStubAsync<TWait>(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode =>
        CallAsync<TWait, IMessage>(method, request, read, options, cancellation);

    /// <summary>Begins a streaming call for generated code.</summary>
    internal async Task<RpcStreamingCall<IMessage, IMessage>> OpenStubAsync(
        RpcMethodInfo method, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        new(await BeginAsync<AsyncWait, IMessage>(method, read, options, cancellation)
            .ConfigureAwait(false));

    /// <summary>Whether only the endpoints can read what the client sends.</summary>
    internal bool IsPrivate => _options.UseTls || Endpoints.All(ClientAuthorization.IsPrivate);

    private ReplyReader<IMessage> ForwardReader(RpcMethodInfo method) =>
        IsSeen ? DynamicReader(method) : body => Owned(method, body);
}
