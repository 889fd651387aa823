using System.Net;
using System.Net.Http.Headers;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

internal partial class HttpChannel
{
    private const string Accept = "Accept";

    // Creating a Uri parses it, which takes longer than adding all headers.
    private readonly ConditionalWeakTable<RpcMethodInfo, Uri> _addresses = [];
    private readonly ConditionalWeakTable<RpcSchema, FormatOptions> _formats = [];

    private bool IsFile => _address.AbsolutePath.EndsWith(".proto/", StringComparison.OrdinalIgnoreCase);

    // Headers of the body, such as Content-Type, can only be set on the content; they replace the client's.
    private static void TryAdd(HttpRequestMessage message, string name, string value)
    {
        if (!message.Headers.TryAddWithoutValidation(name, value) && message.Content is { } content)
        {
            content.Headers.Remove(name);
            content.Headers.TryAddWithoutValidation(name, value);
        }
    }

    /// <summary>The address of a method, with the query of the endpoint.</summary>
    public Uri AddressOf(RpcMethodInfo method) => _addresses.TryGetValue(method, out Uri? address)
        ? address
        : _addresses.GetValue(method, NewAddress);

    // If the endpoint is the address of a file, its methods are below it; otherwise below their services.
    private Uri NewAddress(RpcMethodInfo method) => Below(
        IsFile
            ? method.Name
            : $"{method.Service.FullName}/{method.Name}");

    // Every request has the query of the endpoint, such as '?api-version=2'.
    private Uri Below(string path) => new(_address, path + _query);

    /// <summary>How a method's messages are read and written in formats other than the binary form.</summary>
    public FormatOptions FormatOf(RpcMethodInfo method) =>
        _formats.TryGetValue(method.Service.Schema, out FormatOptions? known)
            ? known
            : _formats.GetValue(method.Service.Schema, schema => _format with { Schema = schema });

    /// <summary>Writes the head of a request, without headers.</summary>
    /// <param name="call">The call.</param>
    /// <param name="body">The result of <see cref="Encode"/>.</param>
    protected virtual HttpCallRequest NewRequest(CallSpec call, HttpBody body) =>
        new(HttpMethod.Post, AddressOf(call.Method), _replies)
        {
            Content = new HttpMessageContent(body, _options.Format.MediaType),
        };

    private HttpCallRequest Request(CallSpec call, IMessage request)
    {
        HttpBody body = call.Replay is { } replay ? Replayed(replay, call, request) : Encode(call, request);
        try
        {
            if (call.Options?.ReplyInfo is { } info)
            {
                info.BytesSent += body.PlainLength;
            }

            return WithHeaders(call, NewRequest(call, body));
        }
        finally
        {
            if (call.Replay is null)
            {
                body.Dispose();
            }
        }
    }

    private HttpBody Replayed(ReplayBuffer replay, CallSpec call, IMessage request) =>
        ReplayBuffer.Encode(replay, () => Encode(call, request));

    /// <summary>Encodes a request.</summary>
    protected virtual HttpBody Encode(CallSpec call, IMessage request)
    {
        MessageFormat format = _options.Format;
        PooledMessageBytes bytes = new(_limits.MaxMessageBytes, "request");
        try
        {
            if (ReferenceEquals(format, MessageFormats.Binary))
            {
                using EncodedMessage body = EncodedMessage.From(request, _limits.MaxMessageBytes, "request");
                body.WriteTo(bytes);
            }
            else
            {
                format.WriteChecked(request, bytes, FormatOf(call.Method));
            }

            return new HttpBody(bytes, call.Options?.Compression ?? _options.Compression);
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    /// <summary>Adds the headers of a call: those of the protocol, of the client and of the call.</summary>
    /// <returns>The request, which is disposed if a header cannot be sent.</returns>
    public HttpCallRequest WithHeaders(CallSpec call, HttpCallRequest message)
    {
        try
        {
            AddHeaders(message, call);
            return message;
        }
        catch
        {
            message.Dispose();
            throw;
        }
    }

    private void AddHeaders(HttpCallRequest message, CallSpec call)
    {
        if (!call.Clock.IsEndless)
        {
            long milliseconds = (long)Math.Clamp(call.Clock.Left.TotalMilliseconds, 1, int.MaxValue);
            message.Headers.TryAddWithoutValidation(
                HttpNames.Timeout, milliseconds.ToString(CultureInfo.InvariantCulture));
        }

        RpcCallContext context = CallSideChannel.CreateContext(this, call.Options);
        if (context.CalculateSize() > 0)
        {
            message.Headers.TryAddWithoutValidation(
                HttpNames.CallContext, Convert.ToBase64String(context.ToByteArray()));
        }

        if (!call.Method.IsUnary && message.Replies.HaveTrailersInBody)
        {
            message.Headers.TryAddWithoutValidation(HttpNames.AcceptTrailers, "body");
        }

        AddHeaders(message, _options.Headers);
        if (call.Options?.Headers is { } ofCall)
        {
            AddHeaders(message, ofCall);
        }

        if (!message.Headers.NonValidated.Contains(Accept))
        {
            message.Headers.TryAddWithoutValidation(Accept, message.Replies.AcceptedOf(call.Method));
        }
    }

    private static void AddHeaders(HttpRequestMessage message, RpcMetadata headers)
    {
        if (headers.Count == 0)
        {
            return;
        }

        foreach ((string name, object value) in headers)
        {
            if (HttpNames.IsFraming(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
                    $"The header '{name}' cannot be sent: the protocol reserves this name. Use another one.");
            }

            TryAdd(message, name, value as string ?? Convert.ToBase64String((byte[])value));
        }
    }

    /// <summary>The media type of a message that is read from a stream.</summary>
    protected virtual string UploadType => MessageFormats.Binary.MediaType;

    public virtual async ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RefuseStreams(call.Method);
        long total = request.Length - request.Position;
        HttpCallRequest message = WithHeaders(call, new(HttpMethod.Post, AddressOf(call.Method), _replies)
        {
            Content = new WatchedContent(new UploadContent(request, UploadType)),
        });
        TReply reply = await RunAsync<TWait, TReply>(call, message, read, cancellation).ConfigureAwait(false);
        call.Progress?.Report(new RpcProgress(total, total));
        return reply;
    }
}

/// <summary>A request body from the caller's stream, which stays open. A retry reads the stream from its
/// start.</summary>
internal sealed class UploadContent : StreamContent
{
    public UploadContent(Stream request, string mediaType)
        : base(request) =>
        Headers.ContentType = MediaTypeHeaderValue.Parse(mediaType);

    protected override void Dispose(bool disposing)
    {
        // Overridden because the base class would close the stream.
    }
}

/// <summary>A request body of one message in pooled memory, which may be sent more than once.</summary>
/// <remarks>The memory is returned when nothing uses the body any more: a custom HTTP handler may still send
/// a request whose call has ended.</remarks>
internal sealed class HttpBody : IDisposable
{
    private readonly PooledMessageBytes _owner;
    private int _holders = 1;

    /// <param name="bytes">The encoded message, which this object now owns.</param>
    /// <param name="compression">The compression, which is used if it makes the message smaller.</param>
    public HttpBody(PooledMessageBytes bytes, RpcCompression compression)
    {
        _owner = bytes;
        Bytes = bytes.Message;
        PlainLength = Bytes.Length;
        ContentEncoding? encoding = ContentEncoding.Get(compression);
        if (HttpCompression.TryCompress(Bytes.Span, encoding, out byte[]? packed))
        {
            Bytes = packed;
            Encoding = encoding.Name;
        }
    }

    /// <summary>The bytes to send.</summary>
    public ReadOnlyMemory<byte> Bytes { get; }

    /// <summary>The Content-Encoding of the bytes; null if they are not compressed.</summary>
    public string? Encoding { get; }

    /// <summary>The size of the message without compression.</summary>
    public int PlainLength { get; }

    /// <summary>The request that the body belongs to; null for a POST to the method.</summary>
    public RestCall? Rest { get; init; }

    /// <summary>Holds the memory until one more call of <see cref="Dispose"/>.</summary>
    /// <exception cref="ObjectDisposedException">The memory was already released.</exception>
    public void Hold()
    {
        int holders;
        do
        {
            holders = Volatile.Read(ref _holders);
            ObjectDisposedException.ThrowIf(holders == 0, this);
        }
        while (Interlocked.CompareExchange(ref _holders, holders + 1, holders) != holders);
    }

    /// <summary>Ends one hold: that of the constructor, or of <see cref="Hold"/>.</summary>
    public void Dispose()
    {
        if (Interlocked.Decrement(ref _holders) == 0)
        {
            _owner.Dispose();
        }
    }
}

/// <summary>A request body of one message. It records whether a connection began to send it: before that, the
/// call cannot have run.</summary>
internal sealed class HttpMessageContent : HttpContent
{
    private readonly HttpBody _body;
    private bool _isDisposed;
    private volatile bool _isSent;

    /// <param name="body">The bytes.</param>
    /// <param name="mediaType">Their format.</param>
    public HttpMessageContent(HttpBody body, string mediaType)
    {
        body.Hold();
        _body = body;
        Headers.TryAddWithoutValidation("Content-Type", mediaType);
        if (body.Encoding is { } encoding)
        {
            Headers.TryAddWithoutValidation("Content-Encoding", encoding);
        }
    }

    /// <summary>Whether a connection has begun to send the request.</summary>
    public bool IsSent => _isSent;

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _body.Hold();
        using HttpBody held = _body;
        _isSent = true;
        await stream.WriteAsync(held.Bytes, cancellationToken).ConfigureAwait(false);
    }

    protected override void SerializeToStream(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _body.Hold();
        using HttpBody held = _body;
        _isSent = true;
        stream.Write(held.Bytes.Span);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = _body.Bytes.Length;
        return true;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && !Interlocked.Exchange(ref _isDisposed, true))
        {
            _body.Dispose();
        }

        base.Dispose(disposing);
    }
}

/// <summary>Wraps another request body, and records whether a connection began to send it: before that, the
/// call cannot have run.</summary>
internal sealed class WatchedContent : HttpContent
{
    private readonly HttpContent _inner;
    private volatile bool _isSent;

    public WatchedContent(HttpContent inner)
    {
        _inner = inner;
        foreach ((string name, IEnumerable<string> values) in inner.Headers)
        {
            Headers.TryAddWithoutValidation(name, values);
        }
    }

    /// <summary>Whether a connection has begun to send the body of a request; true if the body is not
    /// wrapped.</summary>
    public static bool IsSent(HttpRequestMessage message) =>
        message.Content is not (WatchedContent { _isSent: false } or HttpMessageContent { IsSent: false });

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        return _inner.CopyToAsync(stream, context, cancellationToken);
    }

    protected override void SerializeToStream(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        _isSent = true;
        _inner.CopyTo(stream, context, cancellationToken);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = _inner.Headers.ContentLength ?? 0;
        return _inner.Headers.ContentLength is not null;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inner.Dispose();
        }

        base.Dispose(disposing);
    }
}
