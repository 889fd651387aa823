using System.Net.Http.Headers;
using ProtoRpc.Client.Grpc;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Http;

/// <summary>A call of Connect or gRPC-Web whose messages are frames in the bodies of one request and of its
/// response. The last frame contains the result of the call.</summary>
/// <remarks>The single request of a method is sent with its length, so that HTTP can repeat it. A stream of
/// requests begins immediately.</remarks>
internal abstract class FramedHttpCall : IRpcStream
{
    // A server ends the body after the last frame. The client waits at most this long for that end.
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(2);

    private readonly FrameRules _rules;
    private readonly CancellationTokenSource _end;
    private readonly CallTime _time;
    private readonly TaskCompletionSource<Task<HttpResponseMessage>?> _sending = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    private HttpCallRequest? _request;
    private GrpcRequestContent? _content;
    private PooledMessageBytes? _frame;
    private HttpResponseMessage? _response;
    private GrpcFrameReader? _reader;
    private string? _encoding;
    private bool _over;

    /// <param name="channel">The channel.</param>
    /// <param name="call">The call.</param>
    /// <param name="rules">The rules of its replies.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    protected FramedHttpCall(
        HttpChannel channel, CallSpec call, FrameRules rules, CancellationToken cancellation)
    {
        call.Clock.RequireTime(channel.Endpoint);
        Channel = channel;
        Call = call;
        _rules = rules;
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        _time = new CallTime(call.Clock.For(_end.Token), channel.Closed);
    }

    public ReplyBody Current { get; private set; }

    protected HttpChannel Channel { get; }

    protected CallSpec Call { get; }

    /// <summary>Whether a reply was received, so that the call has run.</summary>
    protected bool HasReplies { get; private set; }

    /// <summary>How messages are compressed; null for not.</summary>
    protected ContentEncoding? Compression { get; init; }

    /// <summary>Begins a call that streams its requests.</summary>
    /// <param name="prepare">Runs before the request is sent; null for nothing.</param>
    public void Begin(Func<CancellationToken, Task>? prepare)
    {
        _content = new GrpcRequestContent(_time.Token, MediaTypeHeaderValue.Parse(MediaType));
        Start(_content, prepare);
    }

    public async ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        if (_content is not { } content)
        {
            return SendOnly(message, compress);
        }

        Task<HttpResponseMessage> sending = (await _sending.Task.ConfigureAwait(false))!;
        if (!content.Opened.IsCompleted)
        {
            await Task.WhenAny(content.Opened, sending).ConfigureAwait(false);
        }

        if (_over || !content.Opened.IsCompletedSuccessfully)
        {
            return false;
        }

        PooledMessageBytes frame = _frame ??= new PooledMessageBytes(int.MaxValue, "request");
        frame.Reset();
        Record(isSent: true, Write(frame, message, compress));
        try
        {
            Stream stream = content.Opened.Result;
            await stream.WriteAsync(frame.Message, _time.Token).ConfigureAwait(false);
            await stream.FlushAsync(_time.Token).ConfigureAwait(false);
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
        _sending.TrySetResult(null);
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
            if (!await reader.ReadAsync(_time.Token).ConfigureAwait(false))
            {
                RequireWhole(reader);
                EndWithoutFrame(_response!);
                return Finish();
            }

            GrpcFrame frame = reader.Current;
            Record(isSent: false, frame.Body.Length);
            ReadOnlySequence<byte> body = frame.IsCompressed
                ? new(GrpcEncoding.Decompress(frame.Body, _encoding, Channel.MaxMessageBytes, _rules))
                : frame.Body;
            if (IsEnd(frame))
            {
                End(_response!, body);
                await RequireEndAsync(reader).ConfigureAwait(false);
                return Finish();
            }

            HasReplies = true;
            if (Call.Options?.ReplyInfo is { } info)
            {
                info.IsCompressed = frame.IsCompressed;
            }

            Current = ReplyOf(body).Of(Call.Clock.For(_end.Token), Channel.Endpoint);
            return true;
        }
        catch (Exception e)
        {
            RpcException failure = _over && e is not RpcException
                ? CallErrors.Cancelled(Channel.Endpoint, IsSent)
                : e as RpcException ?? _time.Explain(Channel.Endpoint, e, IsSent);

            // A server whose timer fires slightly earlier ends the stream at the deadline, without a status.
            if (failure is
                {
                    IsAnswer: false, MayHaveExecuted: true,
                    Code: RpcStatusCode.Internal or RpcStatusCode.Unavailable,
                }
                && Call.Clock.IsAboutOver)
            {
                failure = Call.Clock.TimedOut(Channel.Endpoint, sent: true, failure);
            }

            _over = true;
            await CancelAsync().ConfigureAwait(false);
            _response?.Dispose();
            throw failure;
        }
    }

    public async ValueTask DisposeAsync()
    {
        bool finished = _over;
        _over = true;
        _sending.TrySetResult(null);
        if (!finished)
        {
            await CancelAsync().ConfigureAwait(false);
        }

        if (_response is null && await _sending.Task.ConfigureAwait(false) is { } sending)
        {
            // If a response still arrives, it is disposed then.
            _ = sending.ContinueWith(
                static sent => _ = sent.IsCompletedSuccessfully ? Dispose(sent.Result) : sent.Exception,
                CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
        }

        _response?.Dispose();
        _request?.Dispose();
        _time.Dispose();
        _end.Dispose();
    }

    /// <summary>The media type of the request.</summary>
    protected abstract string MediaType { get; }

    /// <summary>Writes the head of the request.</summary>
    protected abstract HttpCallRequest NewRequest();

    /// <summary>Writes a message as a frame.</summary>
    /// <returns>The size of the message as it is sent.</returns>
    protected abstract int Write(PooledMessageBytes output, IMessage message, bool compress);

    /// <summary>Encodes the body of a request with one message.</summary>
    protected virtual byte[] EncodeBody(ReadOnlyMemory<byte> frame) => frame.ToArray();

    /// <summary>Checks the head of the response.</summary>
    /// <returns>How messages are compressed; null for not.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    protected abstract ValueTask<string?> CheckAsync(
        HttpResponseMessage response, CancellationToken cancellation);

    /// <summary>The body of the response, with its frames.</summary>
    protected virtual Stream Decode(HttpResponseMessage response, Stream body) => body;

    /// <summary>Whether a frame is the last one.</summary>
    protected abstract bool IsEnd(in GrpcFrame frame);

    /// <summary>A reply with the bytes of a frame.</summary>
    protected abstract ReplyBody ReplyOf(in ReadOnlySequence<byte> body);

    /// <summary>Reads the last frame.</summary>
    /// <exception cref="RpcException">The call failed.</exception>
    protected abstract void End(HttpResponseMessage response, in ReadOnlySequence<byte> body);

    /// <summary>Reads the end of a body that has no last frame.</summary>
    /// <exception cref="RpcException">The call failed, or the body was cut off.</exception>
    protected abstract void EndWithoutFrame(HttpResponseMessage response);

    private bool IsSent => _content?.IsSent
        ?? (_request is not null && WatchedContent.IsSent(_request));

    private static Exception? Dispose(HttpResponseMessage response)
    {
        response.Dispose();
        return null;
    }

    private bool SendOnly(IMessage message, bool compress)
    {
        if (_over)
        {
            return false;
        }

        if (_request is not null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{Call.Method.FullName} takes one request, and a second one was sent.");
        }

        byte[] body = ReplayBuffer.Encode(Call.Replay, () =>
        {
            using PooledMessageBytes frame = new(int.MaxValue, "request");
            Write(frame, message, compress);
            return EncodeBody(frame.Message);
        });
        Record(isSent: true, body.Length);
        ByteArrayContent content = new(body);
        content.Headers.ContentType = MediaTypeHeaderValue.Parse(MediaType);
        Start(new WatchedContent(content), prepare: null);
        return true;
    }

    private void Start(HttpContent content, Func<CancellationToken, Task>? prepare)
    {
        HttpCallRequest request = NewRequest();
        request.Content = content;
        _request = request;
        _sending.TrySetResult(SendAsync(request, prepare));
    }

    private async Task<HttpResponseMessage> SendAsync(
        HttpCallRequest request, Func<CancellationToken, Task>? prepare)
    {
        if (prepare is not null)
        {
            await prepare(_time.Token).ConfigureAwait(false);
        }

        return await Channel.Http.SendAsync(request, _time.Token).ConfigureAwait(false);
    }

    private async Task<GrpcFrameReader> StartReadingAsync()
    {
        Task<HttpResponseMessage> sending =
            await _sending.Task.WaitAsync(_time.Token).ConfigureAwait(false)
            ?? throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{Call.Method.FullName} takes one request, and none was sent.");
        HttpResponseMessage response = _response = await sending.ConfigureAwait(false);
        _encoding = await CheckAsync(response, _time.Token).ConfigureAwait(false);
        Call.Options?.ReplyInfo?.Began?.Invoke();
        Stream body = await response.Content.ReadAsStreamAsync(_time.Token).ConfigureAwait(false);
        return _reader = new GrpcFrameReader(Decode(response, body), Channel.MaxMessageBytes, _rules);
    }

    private bool Finish()
    {
        _over = true;
        _content?.Complete();
        return false;
    }

    private void RequireWhole(GrpcFrameReader reader)
    {
        int left = reader.Left;
        reader.Release();
        if (left > 0)
        {
            throw _rules.Violation(
                $"the stream ends in the middle of a message, {left:N0} bytes after its start");
        }
    }

    private async ValueTask RequireEndAsync(GrpcFrameReader reader)
    {
        using CancellationTokenSource patience =
            CancellationTokenSource.CreateLinkedTokenSource(_time.Token);
        patience.CancelAfter(EndPatience);
        try
        {
            if (await reader.ReadAsync(patience.Token).ConfigureAwait(false) || reader.Left > 0)
            {
                throw _rules.Violation("more bytes follow the end of the stream");
            }

            reader.Release();
        }
        catch (OperationCanceledException) when (!_time.Token.IsCancellationRequested)
        {
            // The server did not end the body after its last frame. The call has its status, so it succeeds.
            _response!.Dispose();
        }
    }

    private async Task CancelAsync()
    {
        try
        {
            await _end.CancelAsync().ConfigureAwait(false);
        }
        catch (ObjectDisposedException)
        {
            // The call is disposed while another thread reads it. Disposing also ends the call.
        }
    }

    private void Record(bool isSent, long bytes)
    {
        Call.Options?.ReplyInfo?.Count(isSent, bytes);
        if (Channel.Options.Trace is { IsEnabled: true } trace)
        {
            trace.Add(isSent, Channel.Endpoint, $"message of {bytes} bytes");
        }
    }
}
