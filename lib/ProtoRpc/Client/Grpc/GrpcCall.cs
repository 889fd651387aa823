using System.Diagnostics;
using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client.Grpc;

/// <summary>A gRPC call: an HTTP/2 request whose body and response are streams of messages.</summary>
internal sealed class GrpcCall : IRpcStream
{
    // A server that has sent nothing for less than this may have read the request.
    private static readonly TimeSpan Silence = TimeSpan.FromSeconds(0.9);

    private readonly GrpcChannel _channel;
    private readonly RpcCallOptions? _options;
    private readonly RpcReplyInfo? _info;
    private readonly ContentEncoding? _compression;
    private readonly CallClock _clock;
    private readonly CancellationTokenSource _end;
    private readonly HttpRequestMessage _request;
    private readonly GrpcRequestContent? _content;
    private readonly GrpcMessageContent? _single;
    private readonly Task<HttpResponseMessage> _sending;

    private PooledMessageBytes? _frame;
    private HttpResponseMessage? _response;
    private GrpcFrameReader? _reader;
    private string? _encoding;
    private readonly int _heardBefore;
    private readonly long _begun = Stopwatch.GetTimestamp();
    private bool _hasReplies;
    private bool _hasGivenUp;
    private bool _over;

    /// <summary>Begins a call.</summary>
    /// <param name="channel">The channel.</param>
    /// <param name="path">The method: <c>package.Service/Method</c>.</param>
    /// <param name="clock">The time of the call, which is sent to the server and also enforced here. Its
    /// token cancels the call on both sides.</param>
    /// <param name="options">Headers and other options.</param>
    /// <param name="only">The request of a method that takes one, if it is available now.</param>
    /// <param name="streamsRequests">Whether the method takes a stream of requests.</param>
    /// <param name="replay">Keeps the request for retries; null for a call that is not retried.</param>
    /// <param name="previousAttempts">The number of retries before this attempt.</param>
    public GrpcCall(
        GrpcChannel channel,
        string path,
        CallClock clock,
        RpcCallOptions? options,
        IMessage? only,
        bool streamsRequests,
        ReplayBuffer? replay = null,
        int previousAttempts = 0)
    {
        clock.RequireTime(channel.Endpoint);
        _channel = channel;
        _clock = clock;
        _options = options;
        _info = options?.ReplyInfo;
        _compression = GrpcEncoding.Select(
            options?.Compression ?? channel.Options.Compression, channel.Endpoint);
        _request = channel.NewRequest(path, options?.Headers);
        _heardBefore = channel.Greetings.Mark;
        _end = CancellationTokenSource.CreateLinkedTokenSource(clock.Caller, channel.Closed);
        try
        {
            _request.Content = streamsRequests ? _content = new GrpcRequestContent(_end.Token)
                : only is null ? _single = new GrpcMessageContent(_end.Token, replay)
                : _single = new GrpcMessageContent(only, _compression, replay);
            if (_single is not null && (_info is not null || channel.Options.Trace is { IsEnabled: true }))
            {
                _single.Sent = bytes => Record(isSent: true, bytes);
            }

            TimeSpan left = clock.Left;
            GrpcExchange.AddHeaders(
                _request, channel, channel.Options, options, left, _compression, previousAttempts);
            UserAgent.Add(_request.Headers);

            if (!clock.IsEndless)
            {
                _end.CancelAfter(left);
            }

            if (options is { WaitForReady: true } && streamsRequests)
            {
                _request.Options.Set(GrpcChannel.WaitsUntil, _end.Token);
            }
        }
        catch
        {
            // For example, the name of a header is reserved.
            _end.Dispose();
            _request.Dispose();
            throw;
        }

        _sending = channel.Http.SendAsync(_request, _end.Token);
        if (clock.Reach is { } reach && IsSilent)
        {
            _ = GiveUpAfterAsync(reach, _end.Token);
        }
    }

    public ReplyBody Current { get; private set; }

    public async ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        if (_content is not { } content)
        {
            return SendOnly(message, compress);
        }

        if (!content.Opened.IsCompleted)
        {
            await Task.WhenAny(content.Opened, _sending).ConfigureAwait(false);
        }

        if (_over || !content.Opened.IsCompletedSuccessfully)
        {
            return false;
        }

        try
        {
            Stream stream = content.Opened.Result;
            PooledMessageBytes frame = _frame ??= new PooledMessageBytes(int.MaxValue, "request");
            frame.Reset();
            Record(isSent: true, GrpcFrameWriter.Write(frame, message, compress ? _compression : null));
            await stream.WriteAsync(frame.Message, _end.Token).ConfigureAwait(false);
            await stream.FlushAsync(_end.Token).ConfigureAwait(false);
            return true;
        }
        catch (Exception e) when (e is IOException or HttpRequestException or OperationCanceledException
            or ObjectDisposedException or InvalidOperationException)
        {
            // The server ended the call, or the call was cancelled. The reading side reports why.
            return false;
        }
    }

    public ValueTask CompleteAsync()
    {
        _content?.Complete();
        _single?.Complete();
        return ValueTask.CompletedTask;
    }

    public async ValueTask<bool> ReadAsync()
    {
        if (_over)
        {
            return false;
        }

        try
        {
            GrpcFrameReader reader = _reader ?? await StartReadingAsync().ConfigureAwait(false);
            if (!await reader.ReadAsync(_end.Token).ConfigureAwait(false))
            {
                int left = reader.Left;
                reader.Release();
                return Finish(left);
            }

            _hasReplies = true;
            GrpcFrame frame = reader.Current;
            Record(isSent: false, frame.Body.Length);
            if (_info is not null)
            {
                _info.IsCompressed = frame.IsCompressed;
            }

            ReplyBody reply = frame.IsCompressed
                ? new(GrpcEncoding.Decompress(frame.Body, _encoding, _channel.MaxMessageBytes))
                : new(frame.Body);
            Current = reply.Of(_clock, _channel.Endpoint);
            return true;
        }
        catch (Exception e)
        {
            RpcException failure = _over ? Cancelled() : Explain(e);
            _over = true;
            try
            {
                await _end.CancelAsync().ConfigureAwait(false);
            }
            catch (ObjectDisposedException)
            {
                // The call is disposed while another thread reads it. Disposing also ends the call.
            }

            // Cancelling only ends the wait for a message; disposing ends the stream.
            _response?.Dispose();
            throw failure;
        }
    }

    public async ValueTask DisposeAsync()
    {
        bool finished = _over;
        _over = true;
        if (!finished)
        {
            await _end.CancelAsync().ConfigureAwait(false);
        }

        if (_response is null)
        {
            // If a response still arrives, it is disposed then.
            _ = _sending.ContinueWith(
                static sent => sent.Result.Dispose(),
                CancellationToken.None,
                TaskContinuationOptions.OnlyOnRanToCompletion,
                TaskScheduler.Default);
            _ = _sending.ContinueWith(
                static sent => sent.Exception,
                CancellationToken.None,
                TaskContinuationOptions.OnlyOnFaulted,
                TaskScheduler.Default);
        }

        _response?.Dispose();
        _request.Dispose();
        _end.Dispose();
    }

    private bool SendOnly(IMessage message, bool compress)
    {
        if (_over || _sending.IsFaulted || _sending.IsCanceled)
        {
            return false;
        }

        return _single is { } content && content.TrySet(message, compress ? _compression : null)
            ? true
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, "The method takes one request, which was already sent.");
    }

    private async Task<GrpcFrameReader> StartReadingAsync()
    {
        HttpResponseMessage response = _response = await _sending.ConfigureAwait(false);
        string? type = response.Content.Headers.ContentType?.MediaType;
        bool isGrpc = type is not null
            && (type.Equals(GrpcHeaders.ContentType, StringComparison.OrdinalIgnoreCase)
                || type.StartsWith($"{GrpcHeaders.ContentType}+", StringComparison.OrdinalIgnoreCase));

        bool hasStatus = GrpcHeaders.Find(response.Headers, GrpcHeaders.Status) is not null;
        if (!hasStatus && (response.StatusCode != HttpStatusCode.OK || !isGrpc))
        {
            throw await GrpcExchange.ErrorOfHttpAsync(response, _end.Token).ConfigureAwait(false);
        }

        _encoding = GrpcExchange.ReadHead(response, _info);
        if (!hasStatus)
        {
            _info?.Began?.Invoke();
        }

        Stream body = await response.Content.ReadAsStreamAsync(_end.Token).ConfigureAwait(false);
        return _reader = new GrpcFrameReader(body, _channel.MaxMessageBytes);
    }

    private bool Finish(int left)
    {
        HttpResponseMessage response = _response!;
        bool onlyTrailers = GrpcHeaders.Find(response.TrailingHeaders, GrpcHeaders.Status) is null
            && GrpcHeaders.Find(response.Headers, GrpcHeaders.Status) is not null;
        if (!onlyTrailers && _channel.Options.Trace is { IsEnabled: true } trace)
        {
            trace.Add(
                isSent: false, _channel.Endpoint,
                $"trailers{TracingHandler.TextOf(response.TrailingHeaders)}");
        }

        GrpcExchange.End(
            onlyTrailers ? response.Headers : response.TrailingHeaders, _channel, _options, _hasReplies);
        _over = left == 0
            ? true
            : throw GrpcDefects.BadFrame(
                $"the stream ends in the middle of a message, {left:N0} bytes after its start");
        _content?.Complete();
        _single?.Complete();
        return false;
    }

    private RpcException Explain(Exception exception)
    {
        if (exception is not RpcException && _channel.Closed.IsCancellationRequested)
        {
            return Cancelled();
        }

        if (exception is not RpcException
            && _clock.Ended(_channel.Endpoint, MayBeSent, isLate: _end.IsCancellationRequested) is { } ended)
        {
            TimeSpan waited = _hasGivenUp ? _clock.Reach!.Value : _clock.Timeout;
            if (ended.Code == RpcStatusCode.DeadlineExceeded && IsUnheard && (IsSent || _hasGivenUp))
            {
                return IsSent
                    ? WrongProtocolErrors.SilentToCall(_channel.Endpoint, waited)
                    : EndpointErrors.ConnectGivenUp(
                        _channel.Endpoint, waited, new OperationCanceledException(null, exception), default);
            }

            // The HTTP client connects apart from the call, whose error does not say what it waited for.
            return ended is { Code: RpcStatusCode.DeadlineExceeded, MayHaveExecuted: false }
                && _channel.LookingUp is { } host
                ? EndpointErrors.ConnectGivenUp(
                    _channel.Endpoint, _clock.Timeout, new HostLookupTimeout(host, exception), default)
                : ended;
        }

        // If the caller cancelled a call that did not run, the server's answer does not matter.
        if (exception is RpcException { MayHaveExecuted: false } && _clock.Caller.IsCancellationRequested)
        {
            return Cancelled();
        }

        // The HTTP client also cancels sending when the server ends the call.
        return exception is OperationCanceledException && _end.IsCancellationRequested
            ? Cancelled()
            : _channel.Explain(exception, isAnswered: _response is not null);
    }

    private void Record(bool isSent, long bytes)
    {
        _info?.Count(isSent, bytes);
        if (_channel.Options.Trace is { IsEnabled: true } trace)
        {
            trace.Add(isSent, _channel.Endpoint, $"message of {bytes} bytes");
        }
    }

    private RpcException Cancelled() => CallErrors.Cancelled(_channel.Endpoint, MayBeSent);

    private bool IsSent => _content?.IsSent ?? _single!.IsSent;

    // The HTTP client sends requests before the server has sent its HTTP/2 settings. A server that has sent
    // nothing for this time does not speak HTTP/2, so it has not read the request.
    private bool MayBeSent => IsSent && !IsUnheard;

    private bool IsUnheard => IsSilent && Stopwatch.GetElapsedTime(_begun) >= Silence;

    private bool IsSilent => _response is null && _channel.Greetings.IsSilentSince(_heardBefore);

    // Limits this attempt, so that a client with several servers has time to call the next one.
    private async Task GiveUpAfterAsync(TimeSpan reach, CancellationToken ended)
    {
        try
        {
            await Task.Delay(reach, ended).ConfigureAwait(false);
            if (!_over && IsUnheard)
            {
                _hasGivenUp = true;
                await _end.CancelAsync().ConfigureAwait(false);
            }
        }
        catch (Exception e) when (e is OperationCanceledException or ObjectDisposedException)
        {
            // The call has ended.
        }
    }
}

/// <summary>Reads the status of a call.</summary>
internal static class GrpcStatus
{
    private const int MaxSchemes = 5;

    /// <summary>Reads the status from the trailers, or from the headers if the response has only
    /// headers.</summary>
    /// <param name="headers">The trailers, or the headers.</param>
    /// <param name="trailers">The same without what belongs to the protocol.</param>
    /// <param name="hasReplies">Whether a message of the reply was received, so that the call has
    /// run.</param>
    /// <returns>Null when the call succeeded.</returns>
    public static RpcException? Read(HttpHeaders headers, RpcMetadata trailers, bool hasReplies)
    {
        string? text = GrpcHeaders.Find(headers, GrpcHeaders.Status);
        if (text is null)
        {
            return new RpcException(
                RpcStatusCode.Internal,
                "The reply ended without a status. The server, or a proxy before it, "
                + "ended the reply early or does not support gRPC.")
            {
                ErrorId = RpcErrorIds.NoGrpcStatus,
                MayHaveExecuted = true,
            };
        }

        if (text == "0")
        {
            return null;
        }

        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number))
        {
            return GrpcDefects.BadHeader(GrpcHeaders.Status, text, "a number");
        }

        if (number == (int)RpcStatusCode.OK)
        {
            return null;
        }

        // gRPC: a status code outside the seventeen codes is treated as Unknown.
        RpcStatusCode code = Enum.IsDefined((RpcStatusCode)number)
            ? (RpcStatusCode)number
            : RpcStatusCode.Unknown;
        TimeSpan? pushback = hasReplies ? null : GrpcPushback.Find(headers);
        TimeSpan? retryAfter = hasReplies || !headers.NonValidated.Contains(HttpNames.Busy) ? null
            : pushback > TimeSpan.Zero ? pushback
            : TimeSpan.Zero;
        string message = GrpcMessageText.Decode(GrpcHeaders.Find(headers, GrpcMessageText.HeaderName) ?? "");
        return new RpcException(
            code, message.Length > 0 ? message : $"The server returned {code} without a message.")
        {
            IsAnswer = true,
            HasReplies = hasReplies,
            MayHaveExecuted = code != RpcStatusCode.Unimplemented && retryAfter is null,
            RetryAfter = retryAfter,
            Pushback = retryAfter is null || pushback < TimeSpan.Zero ? pushback : null,
            Details = GrpcStatusDetails.Read(GrpcHeaders.Find(headers, GrpcHeaders.StatusDetails)),
            CorrelationId = CorrelationIds.Accept(GrpcHeaders.Find(headers, GrpcHeaders.CorrelationId)),
            Trailers = trailers.ToText(),
            Accepted = HttpErrorReader.AcceptedBy(headers as HttpResponseHeaders),
        };
    }

    /// <summary>Converts the HTTP status of a server or proxy that did not reply with gRPC.</summary>
    public static RpcException OfHttp(HttpResponseMessage response, string? contentType, string body)
    {
        HttpStatusCode status = response.StatusCode;
        RpcStatusCode code = (int)status switch
        {
            400 => RpcStatusCode.Internal,
            403 => RpcStatusCode.PermissionDenied,
            404 => RpcStatusCode.Unimplemented,
            429 or 502 or 503 or 504 => RpcStatusCode.Unavailable,
            _ => RpcStatusCode.Unknown,
        };
        if (status == HttpStatusCode.Unauthorized)
        {
            return Unauthorized(response, body);
        }

        string what = contentType is null ? "" : $" with {contentType}";
        string quote = body.Length > 0 ? $": '{body}'" : "";
        string redirect = HttpErrorReader.DescribeRedirect(response);
        return new RpcException(
            code,
            $"The reply is not gRPC but HTTP {(int)status}" + (redirect.Length > 0
                ? $": {redirect}."
                : $"{what}{quote}. Check the endpoint, and any proxy before it."))
        {
            ErrorId = redirect.Length > 0 ? RpcErrorIds.Redirected : RpcErrorIds.NotGrpc,

            // A proxy that limits the rate of requests has not passed this one on.
            MayHaveExecuted = status != HttpStatusCode.TooManyRequests,
            RetryAfter = status == HttpStatusCode.TooManyRequests
                ? HttpRetryAfter.Parse(response.Headers)
                : null,
            Pushback = status == HttpStatusCode.TooManyRequests ? null : HttpErrorReader.PushbackOf(response),
        };
    }

    // A proxy or a web application checks callers by HTTP's own means, before gRPC sees the call.
    private static RpcException Unauthorized(HttpResponseMessage response, string body)
    {
        string[] schemes =
        [
            .. response.Headers.WwwAuthenticate.Select(challenge => challenge.Scheme)
                .Distinct(StringComparer.OrdinalIgnoreCase).Take(MaxSchemes),
        ];
        string accepted = schemes.Length == 0 ? "" : $" It accepts {string.Join(", ", schemes)}.";
        string quote = body.Length > 0 ? $" Its answer: '{body}'." : "";
        return new RpcException(
            RpcStatusCode.Unauthenticated, RpcErrorIds.AuthenticationRequired,
            "The server, or a proxy before it, requires authentication and rejected the call with HTTP 401."
            + $"{accepted}{quote} Give a token or a credential that it accepts.")
        {
            Accepted = HttpErrorReader.AcceptedBy(response.Headers),
        };
    }
}
