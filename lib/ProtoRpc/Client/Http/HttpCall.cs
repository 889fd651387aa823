using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Net.Sockets;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client.Http;

/// <summary>A call with one request whose replies are read as they arrive.</summary>
internal sealed class HttpCall : IRpcStream
{
    private readonly HttpChannel _channel;
    private readonly CallSpec _call;
    private readonly CancellationTokenSource _end;
    private readonly CallTime _time;
    private readonly TaskCompletionSource<IMessage?> _request = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private HttpStreamFormat _format = HttpStreamFormat.Delimited;
    private HttpReplies? _replies;
    private FormatOptions? _reading;
    private HttpResponseMessage? _response;
    private PipeReader? _reader;
    private SequencePosition? _consumed;
    private ReadLease _lease;
    private bool _over;

    /// <param name="channel">The channel.</param>
    /// <param name="call">The call, whose time starts now.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    public HttpCall(HttpChannel channel, CallSpec call, CancellationToken cancellation)
    {
        call.Clock.RequireTime(channel.Endpoint);
        _channel = channel;
        _call = call;
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        _time = new CallTime(call.Clock.For(_end.Token), channel.Closed);
    }

    public ReplyBody Current { get; private set; }

    public ValueTask<bool> SendAsync(IMessage message, bool compress) => _request.TrySetResult(message)
        ? ValueTask.FromResult(true)
        : throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{_call.Method.FullName} takes one request, and a second one was sent.");

    public ValueTask CompleteAsync()
    {
        _request.TrySetResult(null);
        return ValueTask.CompletedTask;
    }

    public async ValueTask<bool> ReadAsync()
    {
        if (_over)
        {
            return false;
        }

        if (!_lease.TryBegin())
        {
            return _over
                ? false
                : throw new InvalidOperationException("The last read of the replies has not ended.");
        }

        try
        {
            IMessage? request = await _request.Task.WaitAsync(_time.Token).ConfigureAwait(false);
            bool more = await ReadAsync(request ?? throw NoRequest()).ConfigureAwait(false);
            _over = _call.Method.IsUnary || !more;
            return more;
        }
        catch (Exception e)
        {
            _over = true;
            RpcException failure = e as RpcException ?? _time.Explain(
                _channel.Endpoint, e, sent: _request.Task.IsCompletedSuccessfully);
            _response?.Dispose();
            throw failure;
        }
        finally
        {
            if (_lease.End())
            {
                await DropAsync().ConfigureAwait(false);
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (!_over)
        {
            await _end.CancelAsync().ConfigureAwait(false);
        }

        _over = true;
        if (_lease.Close())
        {
            await DropAsync().ConfigureAwait(false);
        }
        else
        {
            // Disposing the reply ends a read, and discards the rest of the body.
            _response?.Dispose();
        }

        _time.Dispose();
        _end.Dispose();
    }

    private async ValueTask<bool> ReadAsync(IMessage request)
    {
        if (_call.Method.IsUnary)
        {
            Current = await _channel
                .InvokeAsync<AsyncWait, ReplyBody>(_call, request, static body => body.Copy(), _time.Token)
                .ConfigureAwait(false);
            return true;
        }

        PipeReader reader = _reader ??= await BeginAsync(request).ConfigureAwait(false);
        if (_consumed is { } consumed)
        {
            _consumed = null;
            Current = default;
            reader.AdvanceTo(consumed);
        }

        long searched = 0;
        while (true)
        {
            ReadResult result = await reader.ReadAsync(_time.Token).ConfigureAwait(false);
            ReadOnlySequence<byte> buffer = result.Buffer;
            bool mayEnd = searched == 0 || result.IsCompleted || buffer.Length > _channel.MaxMessageBytes
                || _format.MayEnd(buffer.Slice(searched));
            if (mayEnd && _format.TryRead(
                ref buffer, result.IsCompleted, _channel.MaxMessageBytes,
                out ReadOnlySequence<byte> item, out bool isError))
            {
                if (isError)
                {
                    ReadEnd(item.ToArray());
                    return false;
                }

                if (_call.Options?.ReplyInfo is { } info)
                {
                    info.BytesReceived += item.Length;
                }

                _consumed = buffer.Start;
                ReplyBody reply = _reading is null ? new(item) : new(item, _format.Format, _reading);
                Current = reply.Of(_call.Clock.For(_end.Token), _channel.Endpoint);
                return true;
            }

            if (result.IsCompleted)
            {
                ReadTrailers();
                return buffer.IsEmpty ? false : throw CutOff(buffer.Length);
            }

            searched = buffer.Length;
            reader.AdvanceTo(buffer.Start, buffer.End);
        }
    }

    private async Task<PipeReader> BeginAsync(IMessage request)
    {
        (_response, _replies) = await _channel.SendAsync(_call, request, _time).ConfigureAwait(false);
        _format = await _channel.BeginRepliesAsync(_call, _response, _replies, _time.Token)
            .ConfigureAwait(false);
        _reading = _channel.ReadingOf(_call.Method, _format.Format);
        Stream body = await _response.Content.ReadAsStreamAsync(_time.Token).ConfigureAwait(false);
        return PipeReader.Create(body, new StreamPipeReaderOptions(bufferSize: 16 * 1024));
    }

    private void ReadEnd(byte[] end)
    {
        string mediaType = _format.Format.MediaTypes[0];
        RpcMetadata trailers = HttpErrorReader.ReadEnd(mediaType, end)
            ?? throw _replies!.ErrorAfter(_call.Method, mediaType, end, ReadTrailers());
        if (_call.Options?.ReplyInfo is { } info)
        {
            info.Trailers = trailers;
        }
    }

    private RpcMetadata ReadTrailers()
    {
        RpcMetadata trailers = HttpResponseMetadata.TrailersOf(_response!);
        if (_call.Options?.ReplyInfo is { } info)
        {
            info.Trailers = trailers;
        }

        return trailers;
    }

    private async ValueTask DropAsync()
    {
        if (Interlocked.Exchange(ref _reader, null) is { } reader)
        {
            Current = default;
            await reader.CompleteAsync().ConfigureAwait(false);
        }

        _response?.Dispose();
    }

    private RpcException NoRequest() => new(
        RpcStatusCode.InvalidArgument, $"{_call.Method.FullName} takes one request, and none was sent.");

    private RpcException CutOff(long left) => new(
        RpcStatusCode.Internal,
        $"The replies to {_call.Method.FullName} end in the middle of one, {left:N0} bytes after its start.")
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };
}

/// <summary>The waits of an HTTP call, blocking or asynchronous.</summary>
internal static class HttpWait
{
    /// <summary>Sends a request and waits for the head of the response.</summary>
    public static ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpMessageInvoker http, HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.IsBlocking
            ? new(http.Send(request, cancellation))
            : new(http.SendAsync(request, cancellation));

    /// <summary>Opens the body of a response.</summary>
    public static ValueTask<Stream> OpenAsync<TWait>(HttpContent content, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.IsBlocking
            ? new(content.ReadAsStream(cancellation))
            : new(content.ReadAsStreamAsync(cancellation));

    /// <summary>Reads some bytes of a body; returns 0 at its end.</summary>
    public static ValueTask<int> ReadAsync<TWait>(
        Stream body, Memory<byte> buffer, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.IsBlocking
            ? new(body.Read(buffer.Span))
            : body.ReadAsync(buffer, cancellation);

    /// <summary>Ends waiting reads when the token is cancelled, if the token alone does not.</summary>
    public static CancellationTokenRegistration EndReads<TWait>(Stream body, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.IsBlocking
            // Only closing the connection ends a blocking read.
            ? cancellation.UnsafeRegister(static state => ((Stream)state!).Dispose(), body)
            : default;
}

/// <summary>Cancels a call when the caller cancels it or its time is over, and explains how it
/// ended.</summary>
internal sealed class CallTime : IDisposable
{
    private readonly CallClock _clock;
    private readonly CancellationTokenSource _source = new();
    private readonly CancellationTokenRegistration _ofCaller;
    private readonly CancellationTokenRegistration _ofClient;
    private readonly CancellationToken _closed;

    /// <param name="clock">The time of the call.</param>
    /// <param name="closed">Cancelled when the client is closed.</param>
    public CallTime(CallClock clock, CancellationToken closed = default)
    {
        _clock = clock;
        _closed = closed;
        _ofClient = closed.UnsafeRegister(
            static source => ((CancellationTokenSource)source!).Cancel(), _source);
        _ofCaller = clock.Caller.UnsafeRegister(
            static source => ((CancellationTokenSource)source!).Cancel(), _source);
        if (!clock.IsEndless)
        {
            _source.CancelAfter(clock.Left);
        }
    }

    public CancellationToken Token => _source.Token;

    /// <summary>Whether it is an exception by which .NET's HTTP client ends a request.</summary>
    public static bool IsOfClient(Exception error) =>
        error is HttpRequestException or OperationCanceledException or IOException
            // Thrown without a wrapper if the server closes the connection during the handshake.
            or SocketException;

    /// <summary>Explains why a call ended without a reply.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="error">The exception of the HTTP client.</param>
    /// <param name="sent">Whether the server may have received the request.</param>
    public RpcException Explain(RpcEndpoint endpoint, Exception error, bool sent = true)
    {
        if (_closed.IsCancellationRequested)
        {
            return CallErrors.Cancelled(endpoint, sent, error);
        }

        if (_clock.Ended(endpoint, sent, error, isLate: _source.IsCancellationRequested) is { } ended)
        {
            return ended;
        }

        return error switch
        {
            HttpRequestException http => HttpTransport.Failure(endpoint, http, sent),

            InvalidDataException => new RpcException(
                RpcStatusCode.Internal,
                $"The reply of '{endpoint}' cannot be decompressed: {error.Message}", error)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            },

            // The HTTP handler's own connect timeout cancelled the request.
            OperationCanceledException e => new RpcException(
                RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
                $"No connection to '{endpoint}' was made in time. Check host, DNS and firewall, or raise "
                + $"{nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint, e),
            _ => new RpcException(
                RpcStatusCode.Unavailable, $"The connection to '{endpoint}' broke: {error.Message}", error)
            {
                MayHaveExecuted = sent,
            },
        };
    }

    public void Dispose()
    {
        _ofCaller.Dispose();
        _ofClient.Dispose();
        _source.Dispose();
    }
}

/// <summary>Compresses the bodies of requests, and decides whether to request compressed replies.</summary>
internal static class HttpCompression
{
    // Smaller bodies are not worth compressing, and often grow.
    private const int Threshold = 256;

    /// <summary>Whether to request compressed replies from an endpoint.</summary>
    public static bool IsAsked(RpcClientOptions options, RpcEndpoint endpoint) =>
        options.ReplyCompression switch
        {
            RpcReplyCompression.Always => true,
            RpcReplyCompression.Never => false,
            _ => options.Compression != RpcCompression.None
                || !(endpoint.IsLocalOnly || HttpTransport.IsLoopback(endpoint.Host)),
        };

    /// <summary>Compresses a body if compression is on and makes the body smaller.</summary>
    /// <param name="body">The body.</param>
    /// <param name="encoding">The selected compression; null for none.</param>
    /// <param name="packed">The compressed bytes.</param>
    public static bool TryCompress(
        ReadOnlySpan<byte> body, [NotNullWhen(true)] ContentEncoding? encoding,
        [NotNullWhen(true)] out byte[]? packed)
    {
        packed = encoding is not null && body.Length >= Threshold && CompressionProbe.Shrinks(body)
            ? encoding.Encode(body)
            : null;
        return packed is not null;
    }
}

/// <summary>Reads the headers and trailers of an HTTP response.</summary>
internal static class HttpResponseMetadata
{
    /// <summary>The headers, except those that carry trailers.</summary>
    public static RpcMetadata HeadersOf(HttpResponseMessage response)
    {
        RpcMetadata headers = new();
        Add(headers, response.Headers.Concat(response.Content.Headers), name => IsTrailer(name)
            ? null
            : name);
        return headers;
    }

    /// <summary>The trailers: those sent as headers, and, once the body is read, those after the
    /// body.</summary>
    public static RpcMetadata TrailersOf(HttpResponseMessage response)
    {
        RpcMetadata trailers = new();
        Add(trailers, response.Headers, name => IsTrailer(name)
            ? name[HttpNames.TrailerPrefix.Length..]
            : null);
        Add(trailers, response.TrailingHeaders, name => name);
        return trailers;
    }

    private static bool IsTrailer(string name) =>
        name.Length > HttpNames.TrailerPrefix.Length
        && name.StartsWith(HttpNames.TrailerPrefix, StringComparison.OrdinalIgnoreCase);

    private static void Add(
        RpcMetadata metadata,
        IEnumerable<KeyValuePair<string, IEnumerable<string>>> headers,
        Func<string, string?> nameOf)
    {
        foreach ((string name, IEnumerable<string> values) in headers)
        {
            if (nameOf(name) is not { } known)
            {
                continue;
            }

            foreach (string value in values)
            {
                metadata.AddReceived(known, value);
            }
        }
    }
}
