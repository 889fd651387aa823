using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Diagnostics;
using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Security;
using ProtoRpc.Transports;

[assembly: RpcChannel<NativeChannel>]

namespace ProtoRpc.Client.Native;

/// <summary>Calls services over DCE/RPC. Each service is an interface with its own connections.</summary>
internal sealed class NativeChannel(RpcEndpoint endpoint, RpcClientOptions options)
    : IRpcChannel, IRpcChannelMaker
{
    private static readonly TimeSpan CloseTimeout = TimeSpan.FromSeconds(1);

    private readonly RpcLimits _limits = options.Limits;
    private readonly ClientLog? _log = ClientLog.From<RpcClient>(options);
    private readonly ConcurrentDictionary<string, Guid> _interfaceIds = new(StringComparer.Ordinal);
    private readonly Dictionary<Guid, NativeConnectionPool> _clients = [];
    private readonly Lock _gate = new();
    private volatile ServiceClient? _last;
    private RpcServiceInfo? _first;
    private RpcCallContext _context = new();
    private bool _disposed;

    // Ids have a random start per channel, and count up for each call. Only the server sees them, so they
    // need not be unpredictable. A random id would cost each call a system call.
    private readonly UInt128 _firstId = BinaryPrimitives.ReadUInt128LittleEndian(
        Guid.NewGuid().ToByteArray());

    private long _lastId;

    // The object is immutable, so parallel calls see either the old or the new context.
    public RpcCallContext Context
    {
        get => Volatile.Read(ref _context);
        set => Volatile.Write(ref _context, value);
    }

    public static bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Native;

    /// <summary>A channel that connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service that <see cref="ConnectAsync"/> binds to; null for none.</param>
    /// <param name="options">The client's options. Their interface id is that of the service.</param>
    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options)
    {
        MessageTransports.Find(endpoint);
        NativeChannel channel = new(endpoint, options);
        if (service is not null)
        {
            channel._first = service;
            channel._interfaceIds[service.FullName] = options.InterfaceId ?? service.InterfaceId;
        }

        return channel;
    }

    /// <summary>Connects and binds to the interface of the first service.</summary>
    public async ValueTask ConnectAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        if (_first is { } service)
        {
            await TWait.RunAsync(() =>
            {
                ClientOf(service).Reach(_limits.ConnectTimeout, cancellation);
                return true;
            }).ConfigureAwait(false);
        }
    }

    public ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RefuseStreams(call.Method);
        NativeConnectionPool client = ClientOf(call.Method.Service);
        EncodedMessage body = Encode(call, request);
        return GoesInParts(body)
            ? UploadAsync<TWait, TReply>(call, body, read, cancellation)
            : CallAsync<TWait, TReply>(
                client, call.Method.Name, call.Method.FullName, body, call.Clock.For(cancellation), read,
                call);
    }

    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => Upload(call, request, read, cancellation));

    private async ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, EncodedMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using (request)
        {
            using Stream parts = request.OpenRead();
            return await UploadAsync<TWait, TReply>(call, parts, read, cancellation).ConfigureAwait(false);
        }
    }

    private TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        NativeConnectionPool client = ClientOf(call.Method.Service);
        MultiPartSender sender = new(
            MultiPartSender.PartBytes(_limits),
            part => Call(
                client, BuiltInNames.Multi, call.Method.FullName,
                part, call.Clock.Again().For(cancellation), MultiPartSender.Read, call),
            part => Call(
                client, BuiltInNames.Multi, call.Method.FullName,
                part, CallClock.Start(MultiPartSender.CancelTimeout), MultiPartSender.Read));
        ReplyBody reply = new(sender.Send(call.Method.Name, request, call.Progress).Memory);
        return read(reply.Of(call.Clock.Again().For(cancellation), endpoint));
    }

    public IRpcStream Open(CallSpec call, CancellationToken cancellation) =>
        throw NativeStreaming.Refusal(call.Method, endpoint);

    public ValueTask<RpcSchema> FetchSchemaAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode => throw new RpcException(
            RpcStatusCode.Unimplemented, RpcErrorIds.NoSchema,
            $"'{endpoint}' has no reflection. Give a schema: its .proto files or a descriptor set.",
            endpoint);

    public ValueTask<RpcSchema?> FetchSchemaAsync<TWait>(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
        where TWait : struct, IWaitMode => default;

    public ValueTask<RpcPingResult> PingAsync<TWait>(PingSpec ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => Ping(ping, cancellation));

    private RpcPingResult Ping(PingSpec ping, CancellationToken cancellation)
    {
        if (ping.Through is { } service)
        {
            NativeConnectionPool client = ClientOf(service);
            client.Reach(Within(ping.Timeout).ConnectTimeout, cancellation);
            return Ping(client, service.FullName, ping, cancellation);
        }

        return ping.Service is { } name ? PingByName(name, ping, cancellation) : Probe(ping, cancellation);
    }

    public void Dispose()
    {
        CloseSession();
        lock (_gate)
        {
            _disposed = true;
            _last = null;
            foreach (NativeConnectionPool client in _clients.Values)
            {
                client.Dispose();
            }

            _clients.Clear();
        }
    }

    private RpcPingResult Ping(
        NativeConnectionPool client, string service, PingSpec ping, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        RpcPingResponse reply = Call(
            client,
            BuiltInNames.Ping,
            $"{service}/{BuiltInNames.Ping}",
            ping.Message,
            CallClock.Start(ping.Timeout, cancellation),
            PingResults.Read);
        return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply).Require(ping.Service);
    }

    // ProtoRpc servers list their services, except those of other listeners on the same endpoint. For other
    // services, the interface id is derived from the name.
    private RpcPingResult PingByName(string service, PingSpec ping, CancellationToken cancellation)
    {
        RpcLimits within = Within(ping.Timeout);
        IReadOnlyList<string> known = [];
        if (options.InterfaceId is null)
        {
            RpcPingResult result = PingBuiltIn(ping, cancellation);
            if (result.Services.Contains(service))
            {
                return result;
            }

            known = result.Services;
        }

        Guid id = options.InterfaceId ?? InterfaceIds.OfName(InterfaceIds.Namespace, service);
        try
        {
            using NativeConnectionPool client = NativeConnectionPool.Connect(
                endpoint, id, within, options.Security, Tls, cancellation, options.Trace);
            return Ping(client, service, ping, cancellation);
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Unimplemented)
        {
            throw known.Count > 0 ? PingResults.NotServed(endpoint, service, known) : new RpcException(
                RpcStatusCode.NotFound, RpcErrorIds.ServiceNotServed,
                $"The server at '{endpoint}' does not serve the interface {id} of '{service}'. Check "
                + "the name; a service whose .proto file sets interface_id needs a schema or that id.",
                endpoint, e);
        }
    }

    // The system's connect has no other timeout.
    private RpcLimits Within(TimeSpan timeout) =>
        timeout == Timeout.InfiniteTimeSpan || timeout > _limits.ConnectTimeout
            ? _limits
            : _limits with { ConnectTimeout = timeout };

    // A server that rejects an unknown interface is reachable. Credentials are an error without a service,
    // because nothing would check them.
    private RpcPingResult Probe(PingSpec ping, CancellationToken cancellation)
    {
        if (options.Security.Authentication > RpcClientAuthentication.Anonymous)
        {
            throw ClientSecurityErrors.NothingToCall(endpoint);
        }

        if (options.InterfaceId is not { } id)
        {
            return PingBuiltIn(ping, cancellation);
        }

        long start = Stopwatch.GetTimestamp();
        NativeConnectionPool.Connect(
            endpoint, id, Within(ping.Timeout), options.Security, Tls, cancellation, options.Trace).Dispose();
        return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply: null);
    }

    // A server that rejects the interface or an anonymous caller is reachable. If it rejects an authenticated
    // caller, it would also reject the calls.
    private RpcPingResult PingBuiltIn(PingSpec ping, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            using NativeConnectionPool client = NativeConnectionPool.Connect(
                endpoint, PingProtocol.InterfaceId, Within(ping.Timeout), options.Security, Tls,
                cancellation, options.Trace);
            return Ping(
                client, PingProtocol.Info.Service.FullName, ping with { Service = null }, cancellation);
        }
        catch (RpcException e) when (!ping.IsAsking
            && (e.Code is RpcStatusCode.Unimplemented
                || (e.Code is RpcStatusCode.Unauthenticated or RpcStatusCode.PermissionDenied
                    && !endpoint.Has(EndpointFeatures.KnowsCaller))))
        {
            return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply: null) with
            {
                Refusal = e.Code == RpcStatusCode.Unimplemented ? null : e.Code,
            };
        }
    }

    // Ends the session on the server. The wait is short, because the session would expire anyway.
    private void CloseSession()
    {
        NativeConnectionPool? client;
        lock (_gate)
        {
            client = _disposed || !Context.HasSessionId ? null : _clients.Values.FirstOrDefault();
        }

        if (client is null)
        {
            return;
        }

        try
        {
            Call(
                client, BuiltInNames.Close, BuiltInNames.Close,
                new RpcVoid(), CallClock.Start(CloseTimeout), static _ => true);
            Context = new RpcCallContext();
        }
        catch (RpcException)
        {
            // The server may have stopped, which also ended the session.
        }
    }

    // Calls a built-in method.
    private TReply Call<TReply>(
        NativeConnectionPool client,
        string name,
        string fullName,
        IMessage request,
        CallClock clock,
        ReplyReader<TReply> read,
        CallSpec? call = null)
    {
        EncodedMessage body = EncodedMessage.From(request, _limits.MaxMessageBytes, "request");
        return BlockingWait.End(
            CallAsync<BlockingWait, TReply>(client, name, fullName, body, clock, read, call));
    }

    // Makes one call on the network, of a method or a built-in one. Disposes of the body.
    private async ValueTask<TReply> CallAsync<TWait, TReply>(
        NativeConnectionPool client,
        string name,
        string fullName,
        EncodedMessage body,
        CallClock clock,
        ReplyReader<TReply> read,
        CallSpec? call)
        where TWait : struct, IWaitMode
    {
        using EncodedMessage request = body;
        using NativeClientCall exchange = await client.BeginAsync<TWait>(clock).ConfigureAwait(false);
        UInt128 id = WriteRequest(client, exchange, name, request, clock.Left, call);
        if (call?.Options?.ReplyInfo is { } info)
        {
            info.BytesSent += exchange.RequestLength;
        }

        int code = await exchange.ExecuteAsync<TWait>(clock).ConfigureAwait(false);
        return ReadReply(exchange, id, code, fullName, read, call, clock);
    }

    private RpcTlsOptions? Tls => options.UseTls ? options.Tls : null;

    private EncodedMessage Encode(CallSpec call, IMessage request) =>
        ReplayBuffer.Encode(call, request, MultiPartSender.MaxRequestBytes(_limits));

    private bool GoesInParts(EncodedMessage body) => MultiPartSender.IsFor(_limits, body.Length);

    private void RefuseStreams(RpcMethodInfo method)
    {
        if (!method.IsUnary)
        {
            throw NativeStreaming.Refusal(method, endpoint);
        }
    }

    // Returns the client of the service's interface id. It connects with its first call, within that call's
    // time: connecting under the lock would block all calls while one server does not answer.
    private NativeConnectionPool ClientOf(RpcServiceInfo service)
    {
        // Most calls use the service of the previous call.
        return _last is { } last && ReferenceEquals(last.Service, service)
            ? last.Client
            : FindClient(service);
    }

    private NativeConnectionPool FindClient(RpcServiceInfo service)
    {
        Guid id = _interfaceIds.GetOrAdd(service.FullName, static (_, s) => s.InterfaceId, service);
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (!_clients.TryGetValue(id, out NativeConnectionPool? client))
            {
                client = NativeConnectionPool.Create(
                    endpoint, id, _limits, options.Security, Tls, _log, options.Trace);
                client.InterfaceName = service.FullName;
                _clients.Add(id, client);
            }

            _last = new ServiceClient(service, client);
            return client;
        }
    }

    private sealed record ServiceClient(RpcServiceInfo Service, NativeConnectionPool Client);

    // Afterwards the body's memory can be reused, while the call waits for its reply.
    private UInt128 WriteRequest(
        NativeConnectionPool client, NativeClientCall exchange, string method, EncodedMessage body,
        TimeSpan timeout,
        CallSpec? call)
    {
        MessageChecks.RequireSize(body.Length, _limits.MaxMessageBytes, "request");
        UInt128 id = NextId();
        RpcCallContext context = CallSideChannel.CreateContext(this, call?.Options);
        Span<byte> octets = stackalloc byte[PlainHeaders.MessageIdBytes];
        BinaryPrimitives.WriteUInt128LittleEndian(octets, id);
        if (IsPlain(context, call)
            && PlainHeaders.TryWriteRequest(
                exchange.Request, method, octets, CallHeaders.Timeout(timeout), IsFirstHop(call),
                client.SentInterfaceId.Span))
        {
            body.WriteTo(exchange.Request);
        }
        else
        {
            if (OperatingSystem.IsWindows() && endpoint.Has(EndpointFeatures.KnowsServer)
                && endpoint.Host.Length == 0 && CallHeaders.HaveSecret(options, call?.Options))
            {
                client.ChecksServer = true;
            }

            RpcRequestHeader header = CallHeaders.Request(
                method, context, timeout, IsFirstHop(call) ? WithHop(call!.Value) : call, options);
            header.MessageId = ByteString.CopyFrom(octets);
            if (!client.SentInterfaceId.IsEmpty)
            {
                header.SetExtension(
                    ProtorpcTransportExtensions.InterfaceId,
                    ByteString.CopyFrom(client.SentInterfaceId.Span));
            }

            NativeHeaders.Write(exchange.Request, header, body);
        }

        body.Dispose();
        return id;
    }

    // Whether the header only has the fields that every call has.
    private bool IsPlain(RpcCallContext context, CallSpec? call) =>
        options.Headers.Count == 0
        && (call?.Options is not { } own || own is { Headers: null, Extensions: null })
        && context.CalculateSize() == 0;

    private static bool IsFirstHop(CallSpec? call) => call?.Options is { IsFirstHop: true };

    private static CallSpec WithHop(CallSpec call)
    {
        RpcMetadata headers = call.Options!.Headers?.Copy() ?? new RpcMetadata();
        headers.Set(PlainHeaders.Hops, "1");
        return call with { Options = call.Options with { Headers = headers } };
    }

    // The number of the call is added to the lower half of the first id.
    private UInt128 NextId() => new(
        (ulong)(_firstId >> 64), (ulong)_firstId + (ulong)Interlocked.Increment(ref _lastId));

    // Checks in the original's order: the id, then the exception, then success and the body.
    private TReply ReadReply<TReply>(
        NativeClientCall exchange, UInt128 id, int code, string method, ReplyReader<TReply> read,
        CallSpec? call, CallClock clock)
    {
        if (call?.Options?.ReplyInfo is { } info)
        {
            info.BytesReceived += exchange.Reply.Length;
        }

        if (code != 0)
        {
            throw NativeFault.OfReturnCode(endpoint, method, (uint)code);
        }

        ReadOnlySpan<byte> payload = exchange.Reply.Span;
        Span<byte> octets = stackalloc byte[PlainHeaders.MessageIdBytes];
        BinaryPrimitives.WriteUInt128LittleEndian(octets, id);
        if ((call?.Options?.ReplyInfo is null || IsFirstHop(call))
            && PlainHeaders.TryReadResponse(payload, octets, out ReadOnlySpan<byte> body))
        {
            return read(new ReplyBody(exchange.Reply[^body.Length..]).Of(clock, endpoint));
        }

        RpcResponseHeader header = NativeHeaders.Read(NativeHeaders.ResponseParser, payload, out body);
        bool failed = header.Exception is not null || !header.Success;
        if (!header.MessageId.Span.SequenceEqual(octets) && !(failed && !header.HasMessageId))
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The reply to {method} carries the id of another call and cannot be trusted.")
            {
                ErrorId = RpcErrorIds.BadHeader,
                MayHaveExecuted = true,
            };
        }

        if (header.CallContext is { } context)
        {
            CallSideChannel.Save(this, call?.Options, context);
        }

        return CallHeaders.ReadResponse(header, method, call, options) is { } failure
            ? throw failure
            : read(new ReplyBody(exchange.Reply[^body.Length..]).Of(clock, endpoint));
    }
}
