using System.Collections.Concurrent;
using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Schema;
using ProtoRpc.Security;
using ProtoRpc.Transports;

[assembly: RpcChannel<NativeChannel>]

namespace ProtoRpc.Client.Native;

/// <summary>Calls services over DCE/RPC. Each service is an interface with its own connections.</summary>
internal sealed partial class NativeChannel(RpcEndpoint endpoint, RpcClientOptions options)
    : IRpcChannel, IRpcChannelMaker
{
    private static readonly TimeSpan CloseTimeout = TimeSpan.FromSeconds(1);

    private readonly RpcLimits _limits = options.Limits;
    private readonly ClientLog? _log = ClientLog.Of<RpcClient>(options);
    private readonly ConcurrentDictionary<string, Guid> _interfaceIds = new(StringComparer.Ordinal);
    private readonly Dictionary<Guid, NativeClient> _clients = [];
    private readonly Lock _gate = new();
    private volatile ServiceClient? _last;
    private RpcServiceInfo? _first;
    private RpcCallContext _context = new();
    private bool _disposed;

    // The object is immutable, so parallel calls see either the old or the new context.
    public RpcCallContext Context
    {
        get => Volatile.Read(ref _context);
        set => Volatile.Write(ref _context, value);
    }

    public static bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Native;

    /// <summary>A channel that connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service that <see cref="Connect"/> binds to; null for none.</param>
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
    public void Connect(CancellationToken cancellation)
    {
        if (_first is { } service)
        {
            ClientOf(service).Reach(_limits.ConnectTimeout, cancellation);
        }
    }

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        using EncodedMessage body = Encode(call, request);
        return GoesInParts(body)
            ? UploadBody(call, body, read, cancellation)
            : BlockingWait.End(CallAsync<BlockingWait, TReply>(call, body, read, cancellation));
    }

    public async Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        using EncodedMessage body = Encode(call, request);
        if (GoesInParts(body))
        {
            return await Task.Run(() => UploadBody(call, body, read, cancellation), CancellationToken.None)
                .ConfigureAwait(false);
        }

        return await CallAsync<AsyncWait, TReply>(call, body, read, cancellation).ConfigureAwait(false);
    }

    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        NativeClient client = ClientOf(call.Method.Service);
        MultiPartSender sender = new(
            options.MultiPartThreshold ?? _limits.MaxMessageBytes,
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

    public RpcSchema FetchSchema(CancellationToken cancellation) => throw new RpcException(
        RpcStatusCode.Unimplemented,
        $"'{endpoint}' has no reflection. Give a schema: its .proto files or a descriptor set.")
    {
        ErrorId = RpcErrorIds.NoSchema,
        Endpoint = endpoint,
    };

    public RpcSchema? FetchSchema(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) => null;

    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation)
    {
        if (ping.Through is { } service)
        {
            NativeClient client = ClientOf(service);
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
            foreach (NativeClient client in _clients.Values)
            {
                client.Dispose();
            }

            _clients.Clear();
        }
    }

    private RpcPingResult Ping(
        NativeClient client, string service, PingSpec ping, CancellationToken cancellation)
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
            using NativeClient client = NativeClient.Connect(
                endpoint, id, within, options.Security, Tls, cancellation, options.Trace);
            return Ping(client, service, ping, cancellation);
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Unimplemented)
        {
            throw known.Count > 0 ? PingResults.NotServed(endpoint, service, known) : new RpcException(
                RpcStatusCode.NotFound,
                $"The server at '{endpoint}' does not serve the interface {id} of '{service}'. Check "
                + "the name; a service whose .proto file sets interface_id needs a schema or that id.",
                e)
            {
                ErrorId = RpcErrorIds.ServiceNotServed,
                Endpoint = endpoint,
            };
        }
    }

    // The system's connect has no other timeout.
    private RpcLimits Within(TimeSpan timeout) =>
        timeout == Timeout.InfiniteTimeSpan || timeout > _limits.ConnectTimeout
            ? _limits
            : _limits with { ConnectTimeout = timeout };

    // A server that rejects an unknown interface is reachable. Without a service, nothing authenticates, so
    // credentials are an error.
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
        NativeClient.Connect(
            endpoint, id, Within(ping.Timeout), options.Security, Tls, cancellation, options.Trace).Dispose();
        return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply: null);
    }

    // A server that rejects the interface or the caller is reachable.
    private RpcPingResult PingBuiltIn(PingSpec ping, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            using NativeClient client = NativeClient.Connect(
                endpoint, PingProtocol.InterfaceId, Within(ping.Timeout), options.Security, Tls,
                cancellation, options.Trace);
            return Ping(
                client, PingProtocol.Info.Service.FullName, ping with { Service = null }, cancellation);
        }
        catch (RpcException e) when (!ping.IsAsking && e.Code is RpcStatusCode.Unimplemented
            or RpcStatusCode.Unauthenticated or RpcStatusCode.PermissionDenied)
        {
            return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply: null);
        }
    }

    // Ends the session on the server. The wait is short, because the session would expire anyway.
    private void CloseSession()
    {
        NativeClient? client;
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
        NativeClient client,
        string name,
        string fullName,
        IMessage request,
        CallClock clock,
        ReplyReader<TReply> read,
        CallSpec? call = null)
    {
        using EncodedMessage body = EncodedMessage.Of(request, _limits.MaxMessageBytes, "request");
        return BlockingWait.End(
            CallAsync<BlockingWait, TReply>(client, name, fullName, body, clock, read, call));
    }

    private ValueTask<TReply> CallAsync<TWait, TReply>(
        CallSpec call, EncodedMessage body, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode => CallAsync<TWait, TReply>(
            ClientOf(call.Method.Service), call.Method.Name, call.Method.FullName, body,
            call.Clock.For(cancellation), read, call);

    // Makes one call on the wire: of a method or a built-in one.
    private async ValueTask<TReply> CallAsync<TWait, TReply>(
        NativeClient client,
        string name,
        string fullName,
        EncodedMessage body,
        CallClock clock,
        ReplyReader<TReply> read,
        CallSpec? call)
        where TWait : struct, IWaitMode
    {
        using NativeExchange exchange = await client.BeginAsync<TWait>(clock).ConfigureAwait(false);
        UInt128 id = WriteRequest(client, exchange, name, body, clock.Left, call);
        if (call?.Options?.Response is { } info)
        {
            info.BytesSent += exchange.RequestLength;
        }

        int code = await exchange.ExecuteAsync<TWait>(clock).ConfigureAwait(false);
        return ReadReply(exchange, id, code, fullName, read, call, clock);
    }

    private RpcTlsOptions? Tls => options.UseTls ? options.Tls : null;

    // A message that is sent in parts may be larger than the limit of one message.
    private EncodedMessage Encode(CallSpec call, IMessage request) => KeptRequest.Encode(
        call, request, options.MultiPartThreshold is null ? _limits.MaxMessageBytes : Array.MaxLength);

    private bool GoesInParts(EncodedMessage body) => body.Length >= options.MultiPartThreshold;

    private TReply UploadBody<TReply>(
        CallSpec call, EncodedMessage body, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        using Stream bytes = body.OpenRead();
        return Upload(call, bytes, read, cancellation);
    }

    private void RefuseStreams(RpcMethodInfo method)
    {
        if (!method.IsUnary)
        {
            throw NativeStreaming.Refusal(method, endpoint);
        }
    }

    // Returns the client of the service's interface id. It connects with its first call, within that call's
    // time: connecting under the lock would block all calls while one server does not answer.
    private NativeClient ClientOf(RpcServiceInfo service)
    {
        // Most calls use the service of the previous call.
        return _last is { } last && ReferenceEquals(last.Service, service)
            ? last.Client
            : FindClient(service);
    }

    private NativeClient FindClient(RpcServiceInfo service)
    {
        Guid id = _interfaceIds.GetOrAdd(service.FullName, static (_, s) => s.InterfaceId, service);
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (!_clients.TryGetValue(id, out NativeClient? client))
            {
                client = NativeClient.Create(
                    endpoint, id, _limits, options.Security, Tls, _log, options.Trace);
                client.InterfaceName = service.FullName;
                _clients.Add(id, client);
            }

            _last = new ServiceClient(service, client);
            return client;
        }
    }

    private sealed record ServiceClient(RpcServiceInfo Service, NativeClient Client);
}
