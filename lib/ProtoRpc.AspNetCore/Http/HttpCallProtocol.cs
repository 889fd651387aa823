using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using System.Net;
using System.Text;
using Microsoft.AspNetCore.WebUtilities;
using ProtoRpc.Formats;
using ProtoRpc.Messages;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Carries a call over HTTP: a request in one format, a reply or an error in another.</summary>
internal class HttpCallProtocol(
    HttpReplies replies, ServerHost host, RpcEndpoint endpoint, HttpContext http, ServerMethod method,
    PeerIdentity peer, CancellationToken aborted)
    : CallProtocol(host, endpoint)
{
    private readonly FormatOptions _formats = replies.OptionsOf(method.Info.Service.Schema);
    private readonly int _maxBytes = host.Options.Limits.MaxMessageBytes;
    private ConnectQuery? _connect;
    private HttpServerStream? _stream;
    private long _bytesIn;
    private long _bytesOut;
    private bool _isCut;

    /// <summary>The format of the request; null for one without a media type.</summary>
    protected MessageFormat? Reader { get; set; }

    /// <summary>The format of the reply.</summary>
    protected (MessageFormat Format, string MediaType) Writer { get; set; }

    /// <summary>The format of a stream of replies; null for a single reply.</summary>
    protected HttpStreamFormat? StreamFormat { get; set; }

    public override PeerIdentity Peer => peer;

    // Kestrel cancels the token on another thread, after reads have already failed.
    public override bool IsAbandoned => _isCut || http.RequestAborted.IsCancellationRequested;

    public override ServerMethod? Routed => method;

    public override object? SharedConnection =>
        HttpProtocol.IsHttp2(http.Request.Protocol) ? http.Connection.Id : null;

    public override long BytesIn => _bytesIn > 0 ? _bytesIn : http.Request.ContentLength ?? 0;

    public override long BytesOut => _bytesOut + (_stream?.BytesSent ?? 0);

    public override ActivityContext ReadParent(RpcServerCallContext? context) => HttpActivity.ParentOf(http);

    public override CallHead ReadHead()
    {
        HttpRequest request = http.Request;
        HttpRequestHead.RequireVersion(request);
        Negotiate(request);
        return new CallHead(
            method, HttpRequestHead.ContextOf(request), HttpRequestHead.DeadlineOf(request), aborted)
        {
            Headers = () => HandlerHeaders.Read(request),
            Services = http.RequestServices,
        };
    }

    public override async ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        if (StreamFormat is null)
        {
            return null;
        }

        IMessage request = await ReadAsync(method, context).ConfigureAwait(false);
        return _stream = new HttpServerStream(
            http, method, context, request, StreamFormat, _formats, _maxBytes,
            response => WriteHeaders(response, context));
    }

    public override async ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context)
    {
        try
        {
            using RequestBody body = await ReadBodyAsync().ConfigureAwait(false);
            _bytesIn = body.Bytes.Length;
            ReadOnlySequence<byte> bytes = WithoutMark(Reader, body.Bytes);
            return method.ReadRequest(FormatOf(http.Request, bytes), bytes, _formats, context);
        }
        catch (IOException e) when (HttpFraming.IsReset(http.Request, e))
        {
            _isCut = true;
            throw new OperationCanceledException("The caller disconnected.", e);
        }
    }

    public override async ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        WriteHeaders(http.Response, context);
        HandlerHeaders.WriteTrailers(http.Response, context.SetTrailers);
        _bytesOut = await WriteAsync(replies, reply, _formats).ConfigureAwait(false);
    }

    public override async ValueTask CompleteAsync(RpcServerCallContext context)
    {
        if (StreamFormat!.HasErrors && HttpFailure.TrailersInBody(http, context) is { } end)
        {
            await _stream!.FailAsync(end).ConfigureAwait(false);
        }
        else
        {
            HandlerHeaders.EndStream(http.Response, context);
            await _stream!.StartAsync().ConfigureAwait(false);
        }
    }

    public override CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        HttpFailure.RefusalOf(error, Host.Options.Limits) ?? base.Translate(error, context);

    // Before the first reply, the failure is sent as in a call without streams. Afterwards, it is the last
    // item of the body.
    public override async ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        HttpFailure answer = HttpFailure.From(failure);
        if (_stream is not null && http.Response.HasStarted)
        {
            DetailJson? json = replies.JsonOf(_stream.Format);
            await _stream.FailAsync(answer.ToMessage(json, context!.SetTrailers)).ConfigureAwait(false);
        }
        else
        {
            _bytesOut = await replies.FailAsync(http, answer, context, FailureWriter).ConfigureAwait(false);
        }
    }

    public override ValueTask CloseAsync() => _stream?.CloseAsync() ?? default;

    public override void Release()
    {
        _stream?.Dispose();
        base.Release();
    }

    /// <summary>The format of a failure; null for that of the reply.</summary>
    protected virtual (MessageFormat Format, string MediaType)? FailureWriter => null;

    /// <summary>Finds the formats of the request and the reply.</summary>
    protected virtual void Negotiate(HttpRequest request)
    {
        _connect = ConnectQuery.IsIn(request) ? new ConnectQuery(request.QueryString) : null;
        Reader = _connect is not null ? _connect.Format
            : HttpReplies.IsQuery(request) ? MessageFormats.Form
            : ReaderOf(request);
        StreamFormat = method.Info.IsServerStreaming && !method.Info.IsClientStreaming
            ? MediaTypes.StreamOf(request.Headers.Accept, Reader) ?? throw NoStreamAcceptable()
            : null;
        Writer =
            StreamFormat is not null ? (StreamFormat.Format, StreamFormat.MediaType)
            : _connect is not null ? (_connect.Format, _connect.MediaType)
            : HttpReplies.WriterOf(request, Reader) ?? throw NotAcceptable(MediaTypes.Known);
    }

    /// <summary>How a request is read.</summary>
    /// <param name="request">The request.</param>
    /// <param name="body">Its body, without the mark of its byte order.</param>
    protected virtual MessageFormat FormatOf(HttpRequest request, in ReadOnlySequence<byte> body) =>
        HttpReplies.IsQuery(request) ? Reader! : BodyFormatOf(request, body);

    /// <summary>Writes the only reply.</summary>
    /// <returns>The bytes of the message, before they were compressed.</returns>
    protected virtual ValueTask<int> WriteAsync(
        HttpReplies replies, IMessage reply, FormatOptions formats) =>
        replies.WriteAsync(http, StatusCodes.Status200OK, Writer, reply, formats);

    /// <summary>The format that the media type of a body names; null for none.</summary>
    protected static MessageFormat? ReaderOf(HttpRequest request)
    {
        string? mediaType = request.ContentType;
        return string.IsNullOrEmpty(mediaType)
            ? null
            : MediaTypes.ReaderOf(mediaType)
                ?? throw Unsupported($"The media type '{mediaType}' is not supported");
    }

    /// <summary>The format of a received body. An empty body needs no media type: it is the empty
    /// message.</summary>
    protected MessageFormat BodyFormatOf(HttpRequest request, in ReadOnlySequence<byte> body)
    {
        RequireNoJson(request, Reader, body);
        return Reader
            ?? (body.IsEmpty ? MessageFormats.Binary : throw Unsupported("The body has no media type"));
    }

    protected static HttpRefusal NoStreamAcceptable() => NotAcceptable(string.Join(
        ", ", HttpStreamFormat.All.Select(format => format.MediaTypes[0])));

    protected static HttpRefusal NotAcceptable(string known) => new(
        StatusCodes.Status406NotAcceptable,
        RpcStatusCode.InvalidArgument,
        $"None of the media types in Accept is supported; use one of {known}.");

    /// <summary>Reads the body, or the data that replaces it.</summary>
    protected virtual ValueTask<RequestBody> ReadBodyAsync()
    {
        if (_connect is { } connect)
        {
            return connect.Compression is { Length: > 0 } and not "identity"
                ? RequestBody.InflateAsync(
                    http.Request, new MemoryStream(connect.Message()), connect.Compression, _maxBytes, Memory,
                    http.RequestAborted)
                : new(RequestBody.From(connect.Message()));
        }

        return HttpReplies.IsQuery(http.Request)
            ? new(RequestBody.From(Encoding.UTF8.GetBytes(http.Request.QueryString.Value ?? "")))
            : RequestBody.ReadAsync(http.Request, _maxBytes, Memory, http.RequestAborted);
    }

    // curl -d @FILE sends the byte order mark of files that Windows PowerShell wrote.
    private static ReadOnlySequence<byte> WithoutMark(MessageFormat? reader, in ReadOnlySequence<byte> body)
    {
        SequenceReader<byte> bytes = new(body);
        return reader is { IsText: true } && bytes.IsNext(Encoding.UTF8.Preamble, advancePast: true)
            ? body.Slice(bytes.Position)
            : body;
    }

    // curl -d always sends the media type of a form. A form never begins with '{'.
    private static void RequireNoJson(
        HttpRequest request, MessageFormat? reader, in ReadOnlySequence<byte> body)
    {
        if ((reader is null || reader == MessageFormats.Form) && FirstOf(body) == (byte)'{')
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

    private static HttpRefusal Unsupported(string what) => new(
        StatusCodes.Status415UnsupportedMediaType,
        RpcStatusCode.InvalidArgument,
        $"{what}; send Content-Type with one of {MediaTypes.Known}.");

    private static void WriteHeaders(HttpResponse response, RpcServerCallContext context)
    {
        HandlerHeaders.Write(response, context.SetHeaders);
        HandlerHeaders.WriteContext(response, context);
    }
}

/// <summary>The bytes of a request's body, all of them,
/// within the limit also after they were decompressed.</summary>
/// <remarks>Valid until it is disposed.</remarks>
internal sealed class RequestBody : IDisposable
{
    private readonly PipeReader? _reader;
    private readonly PooledMessageBytes? _inflated;

    private RequestBody(ReadOnlySequence<byte> bytes, PipeReader? reader, PooledMessageBytes? inflated)
    {
        Bytes = bytes;
        _reader = reader;
        _inflated = inflated;
    }

    public ReadOnlySequence<byte> Bytes { get; }

    /// <summary>Reads a body to its end.</summary>
    /// <exception cref="HttpRefusal">Too large, or compressed in a way
    /// that is not known or not right.</exception>
    /// <exception cref="RpcException">ResourceExhausted: all requests together are too large.</exception>
    public static async ValueTask<RequestBody> ReadAsync(
        HttpRequest request, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        string encoding = request.Headers.ContentEncoding.ToString();
        if (encoding.Length == 0 || encoding.Equals("identity", StringComparison.OrdinalIgnoreCase))
        {
            return await ReadPlainAsync(request, maxBytes, memory, cancellation).ConfigureAwait(false);
        }

        return await InflateAsync(request, request.Body, encoding, maxBytes, memory, cancellation)
            .ConfigureAwait(false);
    }

    /// <summary>Bytes in memory, as a body.</summary>
    public static RequestBody From(byte[] bytes) =>
        new(new ReadOnlySequence<byte>(bytes), reader: null, inflated: null);

    /// <summary>Reads compressed bytes to their end.</summary>
    /// <inheritdoc cref="ReadAsync"/>
    public static async ValueTask<RequestBody> InflateAsync(
        HttpRequest request, Stream compressed, string encoding, int maxBytes, RequestMemory.Share memory,
        CancellationToken cancellation)
    {
        // Kestrel limits the compressed size, this the decompressed size.
        PooledMessageBytes inflated = new(maxBytes, "request");
        try
        {
            await using Stream stream = Decompress(compressed, encoding);
            int read;
            while ((read = await stream.ReadAsync(inflated.GetMemory(), cancellation)
                .ConfigureAwait(false)) > 0)
            {
                inflated.Advance(read);
                memory.Hold(inflated.Length);
            }

            return new RequestBody(new ReadOnlySequence<byte>(inflated.Message), reader: null, inflated);
        }
        catch (Exception e)
        {
            inflated.Dispose();
            throw e switch
            {
                RpcException { ErrorId: RpcErrorIds.MessageTooLarge } => TooLarge(maxBytes),
                InvalidDataException => new HttpRefusal(
                    StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument,
                    $"The body is not {encoding}: {e.Message}"),
                _ when HttpFraming.IsMalformed(request, e) => Unreadable(e),
                _ => e,
            };
        }
    }

    public void Dispose()
    {
        _reader?.AdvanceTo(Bytes.End);
        _inflated?.Dispose();
    }

    private static HttpRefusal Unreadable(Exception error) => new(
        StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument,
        $"The body cannot be read: {error.Message}");

    private static async ValueTask<RequestBody> ReadPlainAsync(
        HttpRequest request, int maxBytes, RequestMemory.Share memory, CancellationToken cancellation)
    {
        PipeReader reader = request.BodyReader;
        while (true)
        {
            ReadResult result;
            try
            {
                result = await reader.ReadAsync(cancellation).ConfigureAwait(false);
            }
            catch (Exception e) when (HttpFraming.IsMalformed(request, e))
            {
                throw Unreadable(e);
            }

            if (result.Buffer.Length > maxBytes || !memory.TryHold(result.Buffer.Length))
            {
                // The rest is received and discarded, so that a client that still sends can read the reply.
                long length = result.Buffer.Length;
                reader.AdvanceTo(result.Buffer.End);
                throw length > maxBytes ? TooLarge(maxBytes) : memory.Full();
            }

            if (result.IsCompleted)
            {
                return new RequestBody(result.Buffer, reader, inflated: null);
            }

            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    private static Decompression Decompress(Stream body, string encoding) =>
        Decompression.TryOpen(body, encoding)
        ?? throw new HttpRefusal(
            StatusCodes.Status415UnsupportedMediaType,
            RpcStatusCode.Unimplemented,
            $"The content encoding '{encoding}' is not supported; use gzip, br or none.");

    /// <summary>The error for a body over the limit.</summary>
    public static HttpRefusal TooLarge(int maxBytes) => new(
        StatusCodes.Status413PayloadTooLarge,
        RpcStatusCode.ResourceExhausted,
        MessageErrors.TextOfServerLimit(maxBytes));
}

/// <summary>A request that is rejected by HTTP's rules, before a call begins.</summary>
internal sealed class HttpRefusal(int httpStatus, RpcStatusCode code, string message) : Exception(message)
{
    public int HttpStatus => httpStatus;

    public RpcStatusCode Code => code;
}

/// <summary>A request of the Connect protocol that is in the query of a GET:
/// <c>?connect=v1&amp;encoding=json&amp;message=...&amp;base64=1&amp;compression=gzip</c>.</summary>
internal sealed class ConnectQuery
{
    private const string Version = "v1";

    private readonly Dictionary<string, byte[]> _parts = new(StringComparer.Ordinal);

    /// <exception cref="HttpRefusal">The Connect request is malformed.</exception>
    public ConnectQuery(QueryString query)
    {
        foreach (QueryStringEnumerable.EncodedNameValuePair pair in new QueryStringEnumerable(query.Value))
        {
            // Percent codes may contain bytes that are not UTF-8, so the value is decoded to bytes and not to
            // text.
            byte[] value = Encoding.UTF8.GetBytes(pair.EncodedValue.ToString());
            if (!_parts.TryAdd(
                pair.DecodeName().ToString(), WebUtility.UrlDecodeToBytes(value, 0, value.Length)!))
            {
                throw Wrong($"'{pair.DecodeName()}' occurs twice.");
            }
        }

        if (TextOf("connect") is not Version)
        {
            throw Wrong($"connect is '{TextOf("connect")}'; this listener supports {Version}.");
        }

        string encoding = TextOf("encoding")
            ?? throw Wrong("encoding is missing; write encoding=json or encoding=proto.");
        Format = MessageFormats.All.FirstOrDefault(format => format.Row.ConnectName == encoding)
            ?? throw new HttpRefusal(
                StatusCodes.Status415UnsupportedMediaType, RpcStatusCode.InvalidArgument,
                $"The encoding '{encoding}' is not supported; use json or proto.");
    }

    /// <summary>The format of the request and of the reply.</summary>
    public MessageFormat Format { get; }

    /// <summary>The media type of the reply.</summary>
    public string MediaType => $"application/{Format.Row.ConnectName}";

    /// <summary>The content encoding of the message; empty for none.</summary>
    public string Compression => TextOf("compression") ?? "";

    /// <summary>Whether a request has the parameters of a Connect GET.</summary>
    public static bool IsIn(HttpRequest request) =>
        (HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method))
        && request.QueryString.Value is { } query
        && (query.StartsWith("?connect=", StringComparison.Ordinal)
            || query.Contains("&connect=", StringComparison.Ordinal));

    /// <summary>The bytes of the message, still compressed if they were.</summary>
    /// <exception cref="HttpRefusal">The parameters are missing, or are not base64.</exception>
    public byte[] Message()
    {
        byte[] message = _parts.GetValueOrDefault("message")
            ?? throw Wrong("message is missing; an empty message is 'message='.");
        return TextOf("base64") is not "1" ? message
            : Base64Text.TryDecode(Encoding.Latin1.GetString(message), out byte[] bytes) ? bytes
            : throw Wrong("message is not base64, although base64=1 is set.");
    }

    private static HttpRefusal Wrong(string what) => new(
        StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument, $"In the query, {what}");

    private string? TextOf(string name) =>
        _parts.TryGetValue(name, out byte[]? value) ? Encoding.UTF8.GetString(value) : null;
}
