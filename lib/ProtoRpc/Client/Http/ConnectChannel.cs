using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

[assembly: RpcChannel<ConnectChannel>]

namespace ProtoRpc.Client.Http;

/// <summary>Calls services over the Connect protocol: a POST or GET for a call with one request and one
/// reply, and frames for streams.</summary>
internal sealed class ConnectChannel : HttpChannel, IRpcChannelMaker
{
    // Many servers limit the request line to 8 KiB.
    private const int MaxAddressLength = 8000;

    private readonly string _mediaType;

    private ConnectChannel(RpcEndpoint endpoint, RpcClientOptions options)
        : base(endpoint, options, new ConnectReplies(), usesHttp2: true) =>
        _mediaType = $"application/{options.Format.Row.ConnectName}";

    public static new bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Connect;

    public static new IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new ConnectChannel(endpoint, options);

    /// <summary>Whether compressed replies are asked for.</summary>
    public bool AsksCompressed => HttpCompression.IsAsked(Options, Endpoint);

    /// <summary>Whether HTTP checks the caller by challenges, so that a request may be sent again.</summary>
    public bool HasCredentials => Options.Security.Authentication
        is RpcClientAuthentication.Self or RpcClientAuthentication.User;

    public override IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        if (call.Method.IsUnary)
        {
            return new HttpCall(this, call, cancellation);
        }

        ConnectCall stream = new(this, call, cancellation);
        if (call.Method.IsClientStreaming)
        {
            // A stream of requests cannot be sent again if the server rejects the version of HTTP, so
            // ReachAsync finds the version first.
            stream.Begin(IsReached || call.Method.IsServerStreaming
                ? null
                : token => ReachAsync(call.Clock.For(token)));
        }

        return stream;
    }

    protected override string UploadType => $"application/{MessageFormats.Binary.Row.ConnectName}";

    protected override HttpCallRequest NewRequest(CallSpec call, HttpBody body)
    {
        if (Options.HttpGet && call.Method.HasNoSideEffects && GetAddress(call.Method, body) is { } address)
        {
            return new HttpCallRequest(HttpMethod.Get, address, Replies);
        }

        HttpCallRequest message = new(HttpMethod.Post, AddressOf(call.Method), Replies)
        {
            Content = new HttpMessageContent(body, _mediaType),
        };
        message.Headers.TryAddWithoutValidation(HttpNames.ConnectVersion, HttpNames.ConnectVersion1);
        return message;
    }

    // The order of the parameters is that of the protocol, so that caches find equal requests.
    private Uri? GetAddress(RpcMethodInfo method, HttpBody body)
    {
        if (body.Bytes.Length > MaxAddressLength)
        {
            return null;
        }

        bool isText = Options.Format.IsText && body.Encoding is null;
        string message = isText
            ? Uri.EscapeDataString(Encoding.UTF8.GetString(body.Bytes.Span))
            : Convert.ToBase64String(body.Bytes.Span).TrimEnd('=').Replace('+', '-').Replace('/', '_');
        string address = AddressOf(method).AbsoluteUri;
        string uri = address + (address.Contains('?') ? "&" : "?") + "connect=v1"
            + (isText ? "" : "&base64=1")
            + (body.Encoding is { } encoding ? $"&compression={encoding}" : "")
            + $"&encoding={Options.Format.Row.ConnectName}&message={message}";
        return uri.Length <= MaxAddressLength ? new Uri(uri) : null;
    }

    private async Task ReachAsync(CallClock clock)
    {
        using CallTime time = new(clock, Closed);
        await ReachAsync<AsyncWait>(time).ConfigureAwait(false);
    }
}

/// <summary>A call that streams over the Connect protocol.</summary>
internal sealed class ConnectCall : FramedHttpCall
{
    private readonly ConnectChannel _channel;
    private readonly MessageFormat _format;
    private readonly FormatOptions? _reading;

    /// <param name="channel">The channel.</param>
    /// <param name="call">The call.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    public ConnectCall(ConnectChannel channel, CallSpec call, CancellationToken cancellation)
        : base(channel, call, ConnectFraming.Replies, cancellation)
    {
        _channel = channel;
        _format = channel.Options.Format;
        _reading = channel.ReadingOf(call.Method, _format);
        Compression = ContentEncoding.Get(call.Options?.Compression ?? channel.Options.Compression);
    }

    protected override string MediaType => ConnectFraming.TypeOf(_format);

    protected override HttpCallRequest NewRequest()
    {
        HttpCallRequest request = new(HttpMethod.Post, Channel.AddressOf(Call.Method), Channel.Replies);
        HttpRequestHeaders headers = request.Headers;
        headers.TryAddWithoutValidation(HttpNames.ConnectVersion, HttpNames.ConnectVersion1);
        if (Compression is not null)
        {
            headers.TryAddWithoutValidation(HttpNames.ConnectEncoding, Compression.Name);
        }

        if (_channel.AsksCompressed)
        {
            headers.TryAddWithoutValidation(HttpNames.ConnectAcceptEncoding, ContentEncoding.Accepted);
        }

        if (Call.Method.IsClientStreaming)
        {
            request.Options.Set(HttpVersionHandler.IsDuplex, Call.Method.IsServerStreaming);

            // The server may challenge the caller before the messages are sent.
            headers.ExpectContinue = _channel.HasCredentials ? true : null;
        }

        return Channel.WithHeaders(Call, request);
    }

    protected override int Write(PooledMessageBytes output, IMessage message, bool compress)
    {
        using PooledMessageBytes body = new(Channel.MaxMessageBytes, "request");
        if (_reading is null)
        {
            using EncodedMessage encoded = EncodedMessage.From(message, Channel.MaxMessageBytes, "request");
            encoded.WriteTo(body);
        }
        else
        {
            _format.WriteChecked(message, body, _reading);
        }

        ReadOnlySpan<byte> bytes = body.Message.Span;
        byte flags = 0;
        if (HttpCompression.TryCompress(bytes, compress ? Compression : null, out byte[]? packed))
        {
            bytes = packed;
            flags = FrameRules.Compressed;
        }

        GrpcFraming.Write(output, flags, bytes);
        return bytes.Length;
    }

    protected override async ValueTask<string?> CheckAsync(
        HttpResponseMessage response, CancellationToken cancellation)
    {
        string mediaType = Channel.ReadHead(Call, response);
        if (response.StatusCode != HttpStatusCode.OK)
        {
            using PooledMessageBytes body = new(Channel.MaxMessageBytes, "reply");
            await HttpChannel.ReadBodyAsync<AsyncWait>(response, body, cancellation).ConfigureAwait(false);
            throw Channel.Replies.ErrorOf(Call.Method, response, mediaType, body.Message);
        }

        return ConnectFraming.FormatOf(mediaType) == _format
            ? GrpcHeaders.Find(response.Headers, HttpNames.ConnectEncoding)
            : throw Channel.NotAMessage(Call.Method, mediaType);
    }

    protected override bool IsEnd(in GrpcFrame frame) => (frame.Flags & ConnectFraming.EndStream) != 0;

    protected override ReplyBody ReplyOf(in ReadOnlySequence<byte> body) =>
        _reading is null ? new(body) : new(body, _format, _reading);

    protected override void End(HttpResponseMessage response, in ReadOnlySequence<byte> body)
    {
        ConnectEnd end = ConnectEnd.Read(body.ToArray());
        if (Call.Options?.ReplyInfo is { } info)
        {
            info.Trailers = end.Trailers;
        }

        if (end.Error is not null)
        {
            bool isBusy = !HasReplies && response.Headers.NonValidated.Contains(HttpNames.Busy);
            throw HttpErrorReader.ReadEnd(
                Call.Method.FullName, end, isBusy ? HttpRetryAfter.Parse(response.Headers) : null);
        }
    }

    protected override void EndWithoutFrame(HttpResponseMessage response) =>
        throw ConnectFraming.Replies.Violation("the stream ends without its last frame");
}

/// <summary>Replies of servers of Connect, other than streams.</summary>
internal sealed class ConnectReplies : HttpReplies
{
    public override bool HaveTrailersInBody => false;

    public override string AcceptedOf(RpcMethodInfo method) => "*/*";

    public override MessageFormat? FormatOf(HttpResponseMessage response, string mediaType, bool isEmpty) =>
        MessageFormats.TryFind(mediaType, out MessageFormat? format) && format.Row.ConnectName is not null
            ? format
            : null;

    public override HttpStreamFormat? StreamOf(HttpResponseMessage response, string mediaType) => null;

    public override RpcException ErrorOf(
        RpcMethodInfo method, HttpResponseMessage response, string mediaType, ReadOnlyMemory<byte> body) =>
        HttpErrorReader.Read(
            method.FullName, response, mediaType, body, rest: null, ConnectError.OfHttpStatus);

    public override RpcException ErrorAfter(
        RpcMethodInfo method, string mediaType, ReadOnlyMemory<byte> error, RpcMetadata trailers) =>
        HttpErrorReader.ReadAfterReplies(method.FullName, mediaType, error, trailers);
}
