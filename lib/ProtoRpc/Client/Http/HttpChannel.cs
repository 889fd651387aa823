using System.Diagnostics;
using System.Net.Http.Headers;
using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

[assembly: RpcChannel<HttpChannel>]

namespace ProtoRpc.Client.Http;

/// <summary>Calls services over HTTP: one POST per call, in the selected format. REST has its own requests
/// and replies (<see cref="RestChannel"/>).</summary>
internal partial class HttpChannel : IRpcChannel, IRpcChannelMaker
{
    // Servers choose the length. Above this size, memory only grows as bytes arrive.
    private const int TrustedLength = 1024 * 1024;

    private readonly RpcEndpoint _endpoint;
    private readonly RpcLimits _limits;
    private readonly RpcClientOptions _options;
    private readonly Uri _address;
    private readonly string _query;
    private readonly HttpMessageInvoker _http;
    private readonly FormatOptions _format;
    private readonly HttpReplies _replies;
    private readonly CancellationTokenSource _closed = new();
    private volatile bool _isReached;
    private RpcCallContext _context = new();

    /// <summary>A channel that connects with its first call.</summary>
    public HttpChannel(RpcEndpoint endpoint, RpcClientOptions options)
        : this(endpoint, options, new PostReplies(options.Format), usesHttp2: false)
    {
    }

    /// <param name="endpoint">The endpoint.</param>
    /// <param name="options">The options of the client.</param>
    /// <param name="replies">How replies are read.</param>
    /// <param name="usesHttp2">Whether requests can also be HTTP/2.</param>
    protected HttpChannel(
        RpcEndpoint endpoint, RpcClientOptions options, HttpReplies replies, bool usesHttp2)
    {
        _endpoint = endpoint;
        _limits = options.Limits;
        _options = options;
        _address = HttpTransport.AddressOf(endpoint);
        _query = HttpTransport.QueryOf(endpoint);
        _format = new FormatOptions
        {
            MaxDepth = _limits.MaxDepth,
            MaxElements = _limits.MaxMessageElements,
            MaxGeneratedMapEntries = _limits.MaxGeneratedMapEntries,
            IgnoreUnknownFields = true,
        };
        _replies = replies;
        _http = HttpTransport.Create(
            endpoint, options.Limits, options.Security, options.Tls,
            HttpCompression.IsAsked(options, endpoint), options.HttpHandler, options.Trace,
            options.Proxy, usesHttp2);
    }

    public static bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Http;

    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new HttpChannel(endpoint, options);

    public RpcEndpoint Endpoint => _endpoint;

    /// <summary>The query of the endpoint, which each request has.</summary>
    protected string Query => _query;

    public int MaxMessageBytes => _limits.MaxMessageBytes;

    /// <summary>Whether the server has replied to a request that calls no method.</summary>
    protected bool IsReached => _isReached;

    /// <summary>The options of the client.</summary>
    public RpcClientOptions Options => _options;

    /// <summary>Sends the requests.</summary>
    public HttpMessageInvoker Http => _http;

    /// <summary>How replies are read.</summary>
    public HttpReplies Replies => _replies;

    /// <summary>Cancelled when the client is closed.</summary>
    public CancellationToken Closed => _closed.Token;

    // The object is immutable, so parallel calls see either the old or the new context.
    public RpcCallContext Context
    {
        get => Volatile.Read(ref _context);
        set => Volatile.Write(ref _context, value);
    }

    public virtual ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RefuseStreams(call.Method);
        return RunAsync<TWait, TReply>(call, Request(call, request), read, cancellation);
    }

    public virtual IRpcStream Open(CallSpec call, CancellationToken cancellation) =>
        call.Method.IsClientStreaming
            ? throw Streams(call.Method)
            : new HttpCall(this, call, cancellation);

    /// <summary>Sends the request of a call whose replies are read as they arrive.</summary>
    public async Task<(HttpResponseMessage Response, HttpReplies Replies)> SendAsync(
        CallSpec call, IMessage request, CallTime time)
    {
        using HttpCallRequest message = Request(call, request);
        try
        {
            return (await _http.SendAsync(message, time.Token).ConfigureAwait(false), message.Replies);
        }
        catch (Exception e) when (CallTime.IsOfClient(e))
        {
            throw time.Explain(_endpoint, e, WatchedContent.IsSent(message));
        }
    }

    public void Dispose()
    {
        // A custom handler does not cancel its calls when it is disposed.
        _closed.Cancel();
        _http.Dispose();
    }

    public ValueTask DisposeAsync()
    {
        // Dispose does not block.
        Dispose();
        return default;
    }

    private static void RefuseStreams(RpcMethodInfo method)
    {
        if (!method.IsUnary)
        {
            throw Streams(method);
        }
    }

    private static RpcException Streams(RpcMethodInfo method) => new(
        RpcStatusCode.Unimplemented,
        method.IsClientStreaming
            ? $"{method.FullName} streams its requests, but a call over HTTP sends only one request. Use a "
                + "grpc:// endpoint."
            : RpcChannels.StreamingHint(method));

    private async ValueTask<TReply> RunAsync<TWait, TReply>(
        CallSpec call, HttpCallRequest message, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using HttpCallRequest disposed = message;
        call.Clock.RequireTime(_endpoint);
        using CallTime time = new(call.Clock.For(cancellation), Closed);
        try
        {
            using HttpResponseMessage response = await HttpWait.SendAsync<TWait>(_http, message, time.Token)
                .ConfigureAwait(false);
            using PooledMessageBytes body = new(_limits.MaxMessageBytes, "reply");
            await ReadBodyAsync<TWait>(response, body, time.Token).ConfigureAwait(false);
            return ReadReply(call, response, message.Replies, body, read, call.Clock.For(cancellation));
        }
        catch (Exception e) when (CallTime.IsOfClient(e) || e is InvalidDataException
            || (e is ObjectDisposedException && time.Token.IsCancellationRequested))
        {
            throw time.Explain(_endpoint, e, WatchedContent.IsSent(message));
        }
    }

    /// <summary>Reads the head of a response with a stream of replies.</summary>
    /// <returns>The format of the stream.</returns>
    /// <exception cref="RpcException">The response is a failure, or not a stream of replies.</exception>
    public async Task<HttpStreamFormat> BeginRepliesAsync(
        CallSpec call, HttpResponseMessage response, HttpReplies replies, CancellationToken cancellation)
    {
        string mediaType = ReadHead(call, response);
        if (!response.IsSuccessStatusCode)
        {
            using PooledMessageBytes body = new(_limits.MaxMessageBytes, "reply");
            await ReadBodyAsync<AsyncWait>(response, body, cancellation).ConfigureAwait(false);
            throw replies.ErrorOf(call.Method, response, mediaType, body.Message);
        }

        HttpStreamFormat format =
            replies.StreamOf(response, mediaType) ?? throw NotAMessage(call.Method, mediaType);
        call.Options?.ReplyInfo?.Began?.Invoke();
        return format;
    }

    /// <summary>The options for reading a method's replies in a format; null for the binary form.</summary>
    public FormatOptions? ReadingOf(RpcMethodInfo method, MessageFormat format) =>
        ReferenceEquals(format, MessageFormats.Binary)
            ? null
            : FormatOf(method);

    /// <summary>Reads the body of a response to its end.</summary>
    public static async ValueTask ReadBodyAsync<TWait>(
        HttpResponseMessage response, PooledMessageBytes body, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using Stream stream = await HttpWait.OpenAsync<TWait>(response.Content, cancellation)
            .ConfigureAwait(false);
        using CancellationTokenRegistration ends = HttpWait.EndReads<TWait>(stream, cancellation);
        if (response.Content.Headers.ContentLength is > 0 and <= TrustedLength and { } length)
        {
            body.GetMemory((int)length);
        }

        int count;
        while ((count = await HttpWait.ReadAsync<TWait>(stream, body.GetMemory(), cancellation)
            .ConfigureAwait(false)) > 0)
        {
            body.Advance(count);
        }

        // A cancelled read can look like the end of the body.
        cancellation.ThrowIfCancellationRequested();
    }

    /// <summary>Reads the headers of a response.</summary>
    /// <returns>The media type of the body.</returns>
    public string ReadHead(CallSpec call, HttpResponseMessage response)
    {
        ReadContext(call, response);
        if (call.Options?.ReplyInfo is { } info)
        {
            info.Headers = HttpResponseMetadata.HeadersOf(response);
            info.Trailers = HttpResponseMetadata.TrailersOf(response);
        }

        return MediaTypeOf(response);
    }

    private static string MediaTypeOf(HttpResponseMessage response) =>
        response.Content.Headers.NonValidated.TryGetValues("Content-Type", out HeaderStringValues type)
        && MessageFormats.FindMediaType(type.ToString()) is { } known
            ? known
            : response.Content.Headers.ContentType?.MediaType ?? "";

    /// <summary>The error for a response of another media type.</summary>
    public RpcException NotAMessage(RpcMethodInfo method, string mediaType) => new(
        RpcStatusCode.Internal,
        $"The reply to {method.FullName} is '{mediaType}' and not a message; "
        + $"is '{(_endpoint.IsHttp ? _address : _endpoint.Uri)}' the address of the service?")
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };

    private TReply ReadReply<TReply>(
        CallSpec call, HttpResponseMessage response, HttpReplies replies, PooledMessageBytes body,
        ReplyReader<TReply> read, CallClock clock)
    {
        RpcMethodInfo method = call.Method;
        ReadOnlyMemory<byte> bytes = body.Message;
        if (call.Options?.ReplyInfo is { } info)
        {
            info.BytesReceived += bytes.Length;
        }

        string mediaType = ReadHead(call, response);
        if (!response.IsSuccessStatusCode)
        {
            throw replies.ErrorOf(method, response, mediaType, bytes);
        }

        MessageFormat? format = replies.FormatOf(response, mediaType, isEmpty: bytes.IsEmpty);
        if (format is null && bytes.Length > 0)
        {
            throw NotAMessage(method, mediaType);
        }

        return format is not null && ReadingOf(method, format) is { } options
            ? read(new ReplyBody(new(bytes), format, options).Of(clock, _endpoint))
            : read(new ReplyBody(bytes).Of(clock, _endpoint));
    }

    private void ReadContext(CallSpec call, HttpResponseMessage response)
    {
        if (!response.Headers.TryGetValues(HttpNames.CallContext, out IEnumerable<string>? values))
        {
            return;
        }

        try
        {
            CallSideChannel.Save(
                this, call.Options,
                RpcCallContext.Parser.ParseFrom(Convert.FromBase64String(values.First())));
        }
        catch (Exception e) when (e is FormatException or InvalidProtocolBufferException)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply's {HttpNames.CallContext} cannot be read.", e)
            {
                ErrorId = RpcErrorIds.BadHeader,
                MayHaveExecuted = true,
            };
        }
    }

    /// <summary>Loads the schema from the file that the endpoint's address names.</summary>
    public ValueTask<RpcSchema> FetchSchemaAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode => IsFile
        ? TWait.RunAsync(() => RpcHttpSchema.Fetch(
            new Uri(_address.AbsoluteUri.TrimEnd('/') + _query), _options, cancellation))
        : throw new RpcException(
            RpcStatusCode.Unimplemented, RpcErrorIds.NoSchema,
            $"'{_endpoint}' is an HTTP endpoint, which lists no schema. Give a schema. A ProtoRpc listener "
            + $"serves its schema at '{_address.AbsoluteUri.TrimEnd('/')}/FILE.proto', where FILE.proto "
            + "declares the service.",
            _endpoint);

    /// <summary>Loads the schema from the file of the first service that the server has under the name that
    /// the client uses.</summary>
    public ValueTask<RpcSchema?> FetchSchemaAsync<TWait>(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => FetchSchema(services, cancellation));

    private RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
    {
        string root = IsFile ? "../" : "";
        foreach (string file in services.Select(service => service.File.Name).Distinct())
        {
            try
            {
                return RpcHttpSchema.Fetch(Below(root + file), _options, cancellation);
            }
            catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
            {
            }
        }

        return null;
    }

    public async ValueTask ConnectAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using CallTime time = new(CallClock.Start(_limits.ConnectTimeout, cancellation), Closed);
        await ReachAsync<TWait>(time).ConfigureAwait(false);
    }

    /// <summary>Checks whether an HTTP server replies, with any status. ProtoRpc servers also return their
    /// product, version and services.</summary>
    public async ValueTask<RpcPingResult> PingAsync<TWait>(PingSpec ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        long start = Stopwatch.GetTimestamp();
        CallClock clock = CallClock.Start(ping.Timeout, cancellation);
        using CallTime time = new(clock, Closed);
        string product = await ReachAsync<TWait>(time).ConfigureAwait(false);
        TimeSpan latency = Stopwatch.GetElapsedTime(start);
        RpcPingResponse? reply = await AskAsync<TWait>(ping, clock, cancellation).ConfigureAwait(false);
        RpcPingResult result = PingResults.ResultOf(_endpoint, latency, reply).Require(ping.Service);
        return reply is null ? result with { Product = product } : result;
    }

    /// <summary>Sends a request that calls no method.</summary>
    /// <returns>The product in the header Server.</returns>
    protected async ValueTask<string> ReachAsync<TWait>(CallTime time)
        where TWait : struct, IWaitMode
    {
        using HttpRequestMessage message = new(HttpMethod.Options, Below(""));
        AddHeaders(message, _options.Headers);
        try
        {
            using HttpResponseMessage response = await HttpWait.SendAsync<TWait>(_http, message, time.Token)
                .ConfigureAwait(false);
            _isReached = true;
            return PingResults.Plain(response.Headers.Server.ToString());
        }
        catch (Exception e) when (CallTime.IsOfClient(e))
        {
            throw time.Explain(_endpoint, e);
        }
    }

    // Returns null if the server is not ProtoRpc's. Fails for a proxy without a server behind it, and for a
    // redirect, because calls would get them as well. If a service is required, no reply in time is also an
    // error.
    private async ValueTask<RpcPingResponse?> AskAsync<TWait>(
        PingSpec ping, CallClock clock, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        CallSpec call = new(PingProtocol.Info, clock);
        using ByteArrayContent content = new(ping.Message.ToByteArray());
        content.Headers.ContentType = MediaTypeHeaderValue.Parse(MessageFormats.Binary.MediaType);
        using HttpCallRequest message = new(
            HttpMethod.Post, Below($"{(IsFile ? "../" : "")}{PingProtocol.Info.FullName}"), _replies)
        {
            Content = content,
        };
        AddHeaders(message, _options.Headers);
        message.Headers.Accept.Clear();
        message.Headers.Accept.ParseAdd(MessageFormats.Binary.MediaType);
        try
        {
            return await RunAsync<TWait, RpcPingResponse>(call, message, PingResults.Read, cancellation)
                .ConfigureAwait(false);
        }
        catch (RpcException e) when (!cancellation.IsCancellationRequested
            && !ping.IsAsking
            && e.Code is not (RpcStatusCode.Unauthenticated or RpcStatusCode.Unavailable)
            && e.ErrorId != RpcErrorIds.Redirected
            && !(ping.Service is not null && e.Code == RpcStatusCode.DeadlineExceeded))
        {
            return null;
        }
    }
}
