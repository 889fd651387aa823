using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using Google.Protobuf;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>A call over HTTP: a request in one format in, a reply or an error in another out.</summary>
internal sealed class HttpServerCall(
    HttpReplies replies, ServerHost host, RpcEndpoint endpoint, HttpContext http, ServerMethod method,
    PeerIdentity peer, CancellationToken aborted)
    : MessageCall(host, endpoint, peer)
{
    private readonly FormatOptions _formats = replies.OptionsOf(method.Info.Service.Schema);
    private readonly int _maxBytes = host.Options.Limits.MaxMessageBytes;
    private ConnectQuery? _connect;
    private MessageFormat? _reader;
    private HttpStreamFormat? _streamFormat;
    private (MessageFormat Format, string MediaType) _writer;
    private HttpServerStream? _stream;
    private long _bytesIn;
    private long _bytesOut;

    /// <inheritdoc/>
    protected override bool IsAbandoned => http.RequestAborted.IsCancellationRequested;

    /// <inheritdoc/>
    protected override ServerMethod? Routed => method;

    /// <inheritdoc/>
    internal override object? SharedConnection =>
        HttpProtocol.IsHttp2(http.Request.Protocol) ? http.Connection.Id : null;

    /// <inheritdoc/>
    protected override long BytesIn => _bytesIn > 0 ? _bytesIn : http.Request.ContentLength ?? 0;

    /// <inheritdoc/>
    protected override long BytesOut => _bytesOut + (_stream?.BytesSent ?? 0);

    /// <inheritdoc/>
    protected override ActivityContext ReadParent() => HttpActivity.ParentOf(http);

    /// <inheritdoc/>
    protected override CallHead ReadHead()
    {
        HttpRequest request = http.Request;
        _connect = ConnectQuery.Of(request);
        _reader = _connect is null ? ReaderOf(request) : _connect.Format;
        _streamFormat = method.Info.IsServerStreaming && !method.Info.IsClientStreaming
            ? MediaTypes.StreamOf(request.Headers.Accept, _reader)
                ?? throw NotAcceptable(string.Join(
                    ", ", HttpStreamFormat.All.Select(format => format.MediaTypes[0])))
            : null;
        _writer =
            _streamFormat is not null ? (_streamFormat.Format, _streamFormat.MediaType)
            : _connect is not null ? (_connect.Format, _connect.MediaType)
            : HttpReplies.WriterOf(request, _reader) ?? throw NotAcceptable(MediaTypes.Known);
        return new CallHead(method, IncomingContext(request), DeadlineOf(request), aborted)
        {
            Headers = () => HandlerHeaders.Read(request),
            Services = http.RequestServices,
        };
    }

    /// <inheritdoc/>
    protected override async ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        if (_streamFormat is null)
        {
            return null;
        }

        IMessage request = await ReadAsync(method, context).ConfigureAwait(false);
        return _stream = new HttpServerStream(
            http, method, context, request, _streamFormat, _formats, _maxBytes,
            response => WriteHeaders(response, context));
    }

    /// <inheritdoc/>
    protected override async ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context)
    {
        using RequestBody body = await ReadBodyAsync().ConfigureAwait(false);
        _bytesIn = body.Bytes.Length;
        ReadOnlySequence<byte> bytes = WithoutMark(_reader, body.Bytes);
        RequireNoJson(http.Request, _reader, bytes);
        return method.ReadRequest(_reader ?? EmptyReader(http.Request, bytes), bytes, _formats, context);
    }

    /// <inheritdoc/>
    protected override async ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        WriteHeaders(http.Response, context);
        HandlerHeaders.WriteTrailers(http.Response, context.SetTrailers);
        _bytesOut = await replies.WriteAsync(http, StatusCodes.Status200OK, _writer, reply, _formats)
            .ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override async ValueTask CompleteAsync(RpcServerCallContext context)
    {
        if (HttpFailure.TrailersInBody(http, context) is { } end)
        {
            await _stream!.FailAsync(end).ConfigureAwait(false);
        }
        else
        {
            HandlerHeaders.EndStream(http.Response, context);
            await _stream!.StartAsync().ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    protected override CallFailure? RefusalOf(Exception error) => HttpFailure.RefusalOf(error);

    // A failure before the first reply is answered as that of any call;
    // one behind it is the last thing in the body.
    /// <inheritdoc/>
    protected override async ValueTask FailAsync(CallFailure failure)
    {
        HttpFailure answer = HttpFailure.Of(failure);
        if (_stream is not null && http.Response.HasStarted)
        {
            await _stream.FailAsync(answer.ToMessage(Context!.SetTrailers)).ConfigureAwait(false);
        }
        else
        {
            _bytesOut = await replies.FailAsync(http, answer, Context).ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    protected override ValueTask CloseAsync() => _stream?.CloseAsync() ?? default;

    /// <inheritdoc/>
    protected override void Release()
    {
        _stream?.Dispose();
        base.Release();
    }

    private static MessageFormat? ReaderOf(HttpRequest request)
    {
        if (HttpReplies.IsQuery(request))
        {
            return MessageFormats.Form;
        }

        string? mediaType = request.ContentType;
        return string.IsNullOrEmpty(mediaType)
            ? null
            : MediaTypes.ReaderOf(mediaType)
                ?? throw Unsupported($"The media type '{mediaType}' is not supported");
    }

    private ValueTask<RequestBody> ReadBodyAsync()
    {
        if (_connect is { } connect)
        {
            return connect.Compression is { Length: > 0 } and not "identity"
                ? RequestBody.InflateAsync(
                    new MemoryStream(connect.Message()), connect.Compression, _maxBytes, Memory,
                    http.RequestAborted)
                : new(RequestBody.Of(connect.Message()));
        }

        return HttpReplies.IsQuery(http.Request)
            ? new(RequestBody.Of(Encoding.UTF8.GetBytes(http.Request.QueryString.Value ?? "")))
            : RequestBody.ReadAsync(http.Request, _maxBytes, Memory, http.RequestAborted);
    }

    // curl -d @FILE sends the byte order mark that Windows PowerShell writes to files.
    private static ReadOnlySequence<byte> WithoutMark(MessageFormat? reader, in ReadOnlySequence<byte> body)
    {
        SequenceReader<byte> bytes = new(body);
        return reader is { IsText: true } && bytes.IsNext(Encoding.UTF8.Preamble, advancePast: true)
            ? body.Slice(bytes.Position)
            : body;
    }

    // 'curl -d' always sends the media type of a form. No name in a form begins with '{'.
    private static void RequireNoJson(
        HttpRequest request, MessageFormat? reader, in ReadOnlySequence<byte> body)
    {
        if ((reader is null || (reader == MessageFormats.Form && !HttpReplies.IsQuery(request)))
            && FirstOf(body) == (byte)'{')
        {
            string type = request.ContentType ?? "";
            throw new HttpRefusal(
                StatusCodes.Status415UnsupportedMediaType,
                RpcStatusCode.InvalidArgument,
                $"The body is JSON, and its "
                + $"Content-Type {(type.Length == 0 ? "is missing" : $"is '{type}'")}; "
                + "send Content-Type: application/json.");
        }
    }

    private static byte? FirstOf(in ReadOnlySequence<byte> body)
    {
        SequenceReader<byte> reader = new(body);
        reader.AdvancePastAny((byte)' ', (byte)'\t', (byte)'\r', (byte)'\n');
        return reader.TryPeek(out byte first) ? first : null;
    }

    // No body needs no media type: it is the empty message.
    private static MessageFormat EmptyReader(HttpRequest request, ReadOnlySequence<byte> body) =>
        body.IsEmpty ? MessageFormats.Binary : throw Unsupported("The body has no media type");

    private static HttpRefusal Unsupported(string what) => new(
        StatusCodes.Status415UnsupportedMediaType,
        RpcStatusCode.InvalidArgument,
        $"{what}; send Content-Type with one of {MediaTypes.Known}.");

    private static HttpRefusal NotAcceptable(string known) => new(
        StatusCodes.Status406NotAcceptable,
        RpcStatusCode.InvalidArgument,
        $"None of the media types in Accept is supported; use one of {known}.");

    private static DateTimeOffset? DeadlineOf(HttpRequest request)
    {
        string text = request.Headers[HttpNames.Timeout].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        return text.Length <= 10
            && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long milliseconds)
                ? DateTimeOffset.UtcNow.AddMilliseconds(milliseconds)
                : throw new HttpRefusal(
                    StatusCodes.Status400BadRequest,
                    RpcStatusCode.InvalidArgument,
                    $"{HttpNames.Timeout} is a number of milliseconds, of ten digits at most.");
    }

    private static RpcCallContext? IncomingContext(HttpRequest request)
    {
        string text = request.Headers[HttpNames.CallContext].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        try
        {
            return RpcCallContext.Parser.ParseFrom(Convert.FromBase64String(text));
        }
        catch (Exception e) when (e is FormatException or InvalidProtocolBufferException)
        {
            throw new HttpRefusal(
                StatusCodes.Status400BadRequest,
                RpcStatusCode.InvalidArgument,
                $"{HttpNames.CallContext} is not an RpcCallContext in base64.");
        }
    }

    private static void WriteHeaders(HttpResponse response, RpcServerCallContext context)
    {
        HandlerHeaders.Write(response, context.SetHeaders);
        if (context.ChangedContext() is { } changed)
        {
            response.Headers[HttpNames.CallContext] = Convert.ToBase64String(changed.ToByteArray());
        }
    }
}
