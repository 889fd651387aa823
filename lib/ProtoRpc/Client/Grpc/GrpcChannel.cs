using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client;
using ProtoRpc.Client.Grpc;
using ProtoRpc.Client.Retries;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Schema;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

[assembly: RpcChannel<GrpcChannel>]

namespace ProtoRpc.Client.Grpc;

/// <summary>Calls services over gRPC: HTTP/2 with messages in frames.</summary>
internal sealed class GrpcChannel : IRpcChannel, IRpcChannelMaker
{
    private static readonly TimeSpan KeepAliveTimeout = TimeSpan.FromSeconds(20);

    // The connection that was made to check the server is used for the first call, unless it was idle for
    // longer: servers close idle connections.
    private static readonly TimeSpan FreshFor = TimeSpan.FromSeconds(5);

    // The pause between attempts of a call that waits for the server.
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(1);

    // The server can send a reply of this size without waiting for the client's flow control.
    private const int StreamWindowSize = 1024 * 1024;

    // Calls with secrets of their own use connections of their own, whose server was checked. The port makes
    // the HTTP client keep them apart; a Unix socket has none.
    private const int CheckedPort = 81;

    // The base address of the methods, with a slash at its end.
    private readonly Uri _address;
    private readonly Uri? _checkedAddress;
    private readonly bool _checksServer;

    // The addresses of the schema's methods. Creating a Uri parses it, which takes longer than adding the
    // headers.
    private readonly ConcurrentDictionary<string, Uri> _addresses = new();
    private readonly CancellationTokenSource _closed = new();
    private DialedConnection? _fresh;
    private RpcException? _refusal;
    private long _freshUntil;
    private volatile string? _lookingUp;

    /// <summary>A channel that connects with its first call.</summary>
    public GrpcChannel(RpcEndpoint endpoint, RpcClientOptions options)
    {
        Endpoint = endpoint;
        Options = options;
        _address = endpoint.Kind.HasPort ? HttpTransport.AddressOf(endpoint) : new Uri("http://localhost/");
        Greetings = new() { IsUnknown = options.HttpHandler is not null };
        if (options.HttpHandler is { } make)
        {
            Http = new HttpMessageInvoker(
                TracingHandler.Around(make(), options.Trace, endpoint), disposeHandler: true);
            return;
        }

        _checksServer = options.Security.ServerUser is not null || options.Headers.HaveSecret;
        if (endpoint.Has(EndpointFeatures.KnowsServer) && !_checksServer)
        {
            _checkedAddress = new UriBuilder(_address) { Port = CheckedPort }.Uri;
        }

        SocketsHttpHandler handler = new()
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            ActivityHeadersPropagator = null,
            EnableMultipleHttp2Connections = true,
            InitialHttp2StreamWindowSize = StreamWindowSize,
            // The channel limits connecting itself, because a call may wait for the server for as long as its
            // deadline allows.
            ConnectTimeout = Timeout.InfiniteTimeSpan,
            PooledConnectionIdleTimeout = options.Limits.IdleTimeout,
            MaxResponseHeadersLength = HttpTransport.MaxReplyHeaders(options.Limits),
            ConnectCallback = (context, cancellation) => ConnectAsync(
                context.InitialRequestMessage,
                _checksServer || context.DnsEndPoint.Port == _checkedAddress?.Port,
                cancellation),
        };
        if (options.KeepAlive is { } interval)
        {
            handler.KeepAlivePingDelay = interval;
            handler.KeepAlivePingTimeout = KeepAliveTimeout;
            handler.KeepAlivePingPolicy = HttpKeepAlivePingPolicy.WithActiveRequests;
        }

        Http = new HttpMessageInvoker(
            TracingHandler.Around(handler, options.Trace, endpoint), disposeHandler: true);
    }

    /// <summary>An option for a stream of requests that waits for an unreachable server, until the token is
    /// cancelled. Its messages cannot be sent again, so its connection waits; other calls are
    /// retried.</summary>
    public static HttpRequestOptionsKey<CancellationToken> WaitsUntil { get; } = new("ProtoRpc.WaitsUntil");

    /// <summary>The side channel. It is sent with every call; ProtoRpc servers may return it
    /// changed.</summary>
    public RpcCallContext Context { get; set; } = new();

    public RpcEndpoint Endpoint { get; }

    /// <summary>Cancelled when the client is closed.</summary>
    public CancellationToken Closed => _closed.Token;

    public RpcClientOptions Options { get; }

    public int MaxMessageBytes => Options.Limits.MaxMessageBytes;

    public HttpMessageInvoker Http { get; }

    /// <summary>The connections on which the server has spoken.</summary>
    public ServerGreetings Greetings { get; }

    /// <summary>Finds the addresses of a host name.</summary>
    public Func<string, IPAddress[]> LookUp { get; init; } = HostLookup.Find;

    /// <summary>The host name that is looked up now for a connection; null for none.</summary>
    public string? LookingUp => _lookingUp;

    public static bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Grpc;

    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new GrpcChannel(endpoint, options);

    /// <summary>Converts an exception of the HTTP client to a status.</summary>
    /// <param name="exception">The exception.</param>
    /// <param name="isAnswered">Whether the reply has begun.</param>
    public RpcException Explain(Exception exception, bool isAnswered)
    {
        RpcException explained = GrpcFailures.Translate(exception, Endpoint, isAnswered);
        return !isAnswered && exception is HttpRequestException
            && explained.ErrorId == RpcErrorIds.ConnectionLost
            ? _refusal ?? explained
            : explained;
    }

    /// <summary>Connects, so that a server that is unreachable or not trusted is reported now.</summary>
    public ValueTask ConnectAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.WaitAsync(ConnectAsync(cancellation));

    private async ValueTask ConnectAsync(CancellationToken cancellation)
    {
        if (Options.HttpHandler is not null)
        {
            // A custom handler manages its own connections.
            return;
        }

        DialedConnection fresh = await DialAsync(_checksServer, cancellation).ConfigureAwait(false);
        _freshUntil = Environment.TickCount64 + (long)FreshFor.TotalMilliseconds;
        Interlocked.Exchange(ref _fresh, fresh)?.Dispose();
    }

    /// <summary>Creates a request to a method, without a body.</summary>
    /// <param name="path">The method: <c>package.Service/Method</c>.</param>
    /// <param name="headers">The headers of this call, which the caller adds; null for none.</param>
    public HttpRequestMessage NewRequest(string path, RpcMetadata? headers)
    {
        bool isChecked = _checkedAddress is not null && headers is { HaveSecret: true };
        Uri address = isChecked
            ? new Uri(_checkedAddress + path)
            : _addresses.GetOrAdd(path, static (path, root) => new(root.AbsoluteUri + path), _address);
        HttpRequestMessage request = new(HttpMethod.Post, address)
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        if ((Options.Tls.ServerName ?? (isChecked ? _address.Host : null)) is { } name)
        {
            request.Headers.Host = name;
        }

        return request;
    }

    public ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RpcMethodInfo method = call.Method;
        return method.IsUnary
            ? TWait.WaitAsync(CallAsync(
                method.FullName, call.Clock.For(cancellation), call.Options, request, read, call.Replay,
                call.PreviousAttempts))
            : throw new RpcException(RpcStatusCode.InvalidArgument, RpcChannels.StreamingHint(method));
    }

    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode => throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"gRPC cannot send a message in parts. Send {call.Method.FullName} a stream of smaller "
            + "messages, or use a native endpoint.");

    public IRpcStream Open(CallSpec call, CancellationToken cancellation) => new GrpcCall(
        this, call.Method.FullName, call.Clock.For(cancellation), call.Options, only: null,
        call.Method.IsClientStreaming, call.Replay, call.PreviousAttempts);

    public ValueTask<RpcSchema> FetchSchemaAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.WaitAsync(new GrpcReflection(this).ReadAsync(cancellation));

    public async ValueTask<RpcSchema?> FetchSchemaAsync<TWait>(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
        where TWait : struct, IWaitMode => await FetchSchemaAsync<TWait>(cancellation).ConfigureAwait(false);

    public ValueTask<RpcSchema?> FetchSymbolsAsync<TWait>(SymbolQuery query, CancellationToken cancellation)
        where TWait : struct, IWaitMode =>
        TWait.WaitAsync(new GrpcReflection(this).ReadAsync(query, cancellation));

    public ValueTask<RpcPingResult> PingAsync<TWait>(PingSpec ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.WaitAsync(new GrpcPing(this, ping, cancellation).RunAsync());

    /// <summary>Calls a method with one request and one reply.</summary>
    public async Task<TReply> CallAsync<TReply>(
        string path,
        CallClock clock,
        RpcCallOptions? options,
        IMessage request,
        ReplyReader<TReply> read,
        ReplayBuffer? replay = null,
        int previousAttempts = 0)
    {
        await using GrpcCall call = new(
            this, path, clock, options, request, streamsRequests: false, replay, previousAttempts);
        if (!await call.ReadAsync().ConfigureAwait(false))
        {
            throw ReplyParser.NotOne("no reply, but the status OK");
        }

        TReply reply = read(call.Current);
        return await call.ReadAsync().ConfigureAwait(false)
            ? throw ReplyParser.NotOne("more than one reply")
            : reply;
    }

    public void Dispose()
    {
        // A custom handler does not cancel its calls when it is disposed.
        _closed.Cancel();
        Http.Dispose();
        Interlocked.Exchange(ref _fresh, null)?.Dispose();
    }

    public ValueTask DisposeAsync()
    {
        // Dispose does not block.
        Dispose();
        return default;
    }

    private async ValueTask<Stream> ConnectAsync(
        HttpRequestMessage request, bool checksServer, CancellationToken cancellation)
    {
        DialedConnection? fresh =
            checksServer == _checksServer ? Interlocked.Exchange(ref _fresh, null) : null;
        if (fresh is not null && Environment.TickCount64 < _freshUntil && !fresh.HasEnded)
        {
            return fresh.Stream;
        }

        fresh?.Dispose();
        TimeSpan pause = FirstPause;
        while (true)
        {
            try
            {
                return (await DialAsync(checksServer, cancellation).ConfigureAwait(false)).Stream;
            }
            catch (RpcException e) when (RetryRules.IsAbsent(e)
                && request.Options.TryGetValue(WaitsUntil, out CancellationToken patience)
                && !patience.IsCancellationRequested)
            {
                await Task.Delay(pause, cancellation).ConfigureAwait(false);
                pause = pause * 2 < LongestPause ? pause * 2 : LongestPause;
            }
        }
    }

    private async Task<DialedConnection> DialAsync(bool checksServer, CancellationToken cancellation)
    {
        _refusal = null;
        return await GrpcDialer.DialAsync(
            Endpoint, Options.Tls, Options.Proxy, CallClock.ForTimer(Options.Limits.ConnectTimeout),
            why => _refusal = why, Greetings, cancellation, RecordLookUp,
            checksServer
                ? socket => LocalServer.Require(Endpoint, socket, Options.Security.ServerUser)
                : null)
            .ConfigureAwait(false);
    }

    private IPAddress[] RecordLookUp(string host)
    {
        _lookingUp = host;
        try
        {
            return LookUp(host);
        }
        finally
        {
            _lookingUp = null;
        }
    }
}

/// <summary>Converts exceptions of the HTTP client to statuses.</summary>
internal static class GrpcFailures
{
    // RFC 9113, section 7.
    private const long RefusedStream = 0x7;
    private const long Cancel = 0x8;
    private const long EnhanceYourCalm = 0xb;
    private const long InadequateSecurity = 0xc;
    private const long NoError = 0x0;
    private const long Http11Required = 0xd;

    /// <summary>The status of an exception of the HTTP client.</summary>
    /// <param name="exception">The exception.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="isAnswered">Whether a reply had begun. If so, the call has run, even if the error says
    /// otherwise.</param>
    public static RpcException Translate(Exception exception, RpcEndpoint endpoint, bool isAnswered)
    {
        for (Exception? e = exception; e is not null; e = e.InnerException)
        {
            switch (e)
            {
                case RpcException known:
                    return known;
                case HttpProtocolException { ErrorCode: Http11Required } old:
                    return WrongProtocolErrors.Other(
                        endpoint, endpoint.IsTls ? SpokenProtocol.Unknown : SpokenProtocol.Http1, old);
                case HttpProtocolException reset:
                    return OfErrorCode(reset, endpoint, isAnswered);
                case HttpRequestException limit
                    when limit.HttpRequestError == HttpRequestError.ConfigurationLimitExceeded:
                    return CallErrors.TooManyHeaders(endpoint, limit);
                case SocketException:
                    return Lost(endpoint, exception);
            }
        }

        return Lost(endpoint, exception);
    }

    private static RpcException OfErrorCode(
        HttpProtocolException reset, RpcEndpoint endpoint, bool isAnswered)
    {
        (RpcStatusCode code, string what) = reset.ErrorCode switch
        {
            RefusedStream => (
                RpcStatusCode.Unavailable, isAnswered ? "aborted the call" : "rejected the call"),
            Cancel => (RpcStatusCode.Cancelled, "cancelled the call"),
            EnhanceYourCalm => (RpcStatusCode.ResourceExhausted,
                "closed the connection because of too many requests (KeepAlive may be too short)"),
            InadequateSecurity => (RpcStatusCode.PermissionDenied, "requires stronger encryption"),
            NoError when !IsOfStream(reset) =>
                (RpcStatusCode.Unavailable, "closed the connection before it answered"),
            _ => (RpcStatusCode.Internal, "aborted the call"),
        };
        return new RpcException(code, $"'{endpoint}' {what} (HTTP/2 error 0x{reset.ErrorCode:x}).", reset)
        {
            ErrorId = reset.ErrorCode == NoError && code == RpcStatusCode.Unavailable
                ? RpcErrorIds.ConnectionLost
                : RpcErrorIds.OfStatus(code),
            MayHaveExecuted = isAnswered || reset.ErrorCode != RefusedStream,
        };
    }

    // Resetting a stream without an error violates gRPC's rules, but closing a connection without an error
    // does not. Only the message distinguishes the two, even if the program's resource texts are trimmed to
    // their names.
    private static bool IsOfStream(HttpProtocolException reset) =>
        reset.Message.Contains("stream", StringComparison.Ordinal);

    private static RpcException Lost(RpcEndpoint endpoint, Exception exception) =>
        CallErrors.ConnectionLost(endpoint, exception);
}

/// <summary>Pings a gRPC server. The health service returns its health; ProtoRpc's ping or the reflection
/// service returns its services. A server without these services is reachable all the same.</summary>
internal sealed class GrpcPing(GrpcChannel channel, PingSpec ping, CancellationToken cancellation)
{
    private const string CheckPath = "grpc.health.v1.Health/Check";

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly CallClock _clock = CallClock.Start(ping.Timeout, cancellation);

    /// <exception cref="RpcException">The server did not reply, or does not have the service.</exception>
    public async Task<RpcPingResult> RunAsync()
    {
        (string health, bool isUnknown) = await CheckAsync(ping.Service ?? "").ConfigureAwait(false);
        TimeSpan latency = Stopwatch.GetElapsedTime(_start);
        RpcPingResponse? reply = ping.IsAsking
            ? await AskAsync().ConfigureAwait(false)
            : await TryAsync(AskAsync).ConfigureAwait(false);
        ServerFacts? facts = PingProtocol.FactsOf(reply);
        IReadOnlyList<string>? listed = facts is null
            ? await TryAsync(() => new GrpcReflection(channel).ListAsync(_clock))
                .ConfigureAwait(false)
            : [.. facts.Services];
        string[]? services = listed is null ? null : PingResults.Names(listed);
        if (ping.Service is { } service && (isUnknown || health.Length == 0))
        {
            // Many servers only report the health of the whole server, not of single services.
            if (services is null && _clock.IsOver)
            {
                throw _clock.TimedOut(channel.Endpoint, sent: false);
            }

            bool isServed = services?.Contains(service) ?? !isUnknown;
            if (!isServed)
            {
                throw PingResults.NotServed(channel.Endpoint, service, services ?? []);
            }

            health = isUnknown ? (await CheckAsync("").ConfigureAwait(false)).Health : health;
        }

        return PingResults.ResultOf(channel.Endpoint, latency, reply) with
        {
            Services = services ?? [],
            Health = health,
        };
    }

    private Task<RpcPingResponse> AskAsync() => channel.CallAsync(
        PingProtocol.Info.FullName, _clock, null, ping.Message, PingResults.Read);

    // The health is empty without a health service. For an unknown service, the status is NotFound or
    // SERVICE_UNKNOWN.
    private async Task<(string Health, bool IsUnknown)> CheckAsync(string service)
    {
        try
        {
            HealthCheckResponse reply = await channel.CallAsync(
                CheckPath, _clock, null, new HealthCheckRequest { Service = service }, Parse)
                .ConfigureAwait(false);
            return (
                reply.Status.ToString(),
                reply.Status == HealthCheckResponse.Types.ServingStatus.ServiceUnknown);
        }
        catch (RpcException e)
            when (e.Code == RpcStatusCode.Unimplemented && e.ErrorId != RpcErrorIds.NotGrpc)
        {
            return ("", false);
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound && e.MayHaveExecuted)
        {
            return ("", true);
        }
    }

    // Optional services of a server. The server is reachable even if they fail.
    private async Task<TResult?> TryAsync<TResult>(Func<Task<TResult>> ask)
        where TResult : class?
    {
        try
        {
            return await ask().ConfigureAwait(false);
        }
        catch (RpcException) when (!_clock.Caller.IsCancellationRequested)
        {
            return null;
        }
    }

    private static HealthCheckResponse Parse(ReplyBody body)
    {
        try
        {
            return HealthCheckResponse.Parser.ParseFrom(body.Bytes);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.BadReply,
                $"The reply to {CheckPath} cannot be read: {e.Message}", e);
        }
    }
}
