using System.Buffers;
using System.IO.Pipelines;
using Google.Protobuf;
using ProtoRpc.Protocols.Http;

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
    private FormatOptions? _reading;
    private HttpResponseMessage? _response;
    private PipeReader? _reader;
    private SequencePosition? _consumed;
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

    /// <inheritdoc/>
    public ReplyBody Current { get; private set; }

    /// <inheritdoc/>
    public ValueTask<bool> SendAsync(IMessage message, bool compress) => _request.TrySetResult(message)
        ? ValueTask.FromResult(true)
        : throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{_call.Method.FullName} takes one request, and a second one was sent.");

    /// <inheritdoc/>
    public ValueTask CompleteAsync()
    {
        _request.TrySetResult(null);
        return ValueTask.CompletedTask;
    }

    /// <inheritdoc/>
    public async ValueTask<bool> ReadAsync()
    {
        if (_over)
        {
            return false;
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
            await DropAsync().ConfigureAwait(false);
            throw failure;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (!_over)
        {
            await _end.CancelAsync().ConfigureAwait(false);
        }

        _over = true;
        await DropAsync().ConfigureAwait(false);
        _time.Dispose();
        _end.Dispose();
    }

    private async ValueTask<bool> ReadAsync(IMessage request)
    {
        if (_call.Method.IsUnary)
        {
            Current = await _channel
                .InvokeAsync(_call, request, static body => body.Copy(), _time.Token)
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

                if (_call.Options?.Response is { } info)
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
        _response = await _channel.SendAsync(_call, request, _time).ConfigureAwait(false);
        _format = await _channel.BeginRepliesAsync(_call, _response, _time.Token).ConfigureAwait(false);
        _reading = _channel.ReadingOf(_call.Method, _format.Format);
        Stream body = await _response.Content.ReadAsStreamAsync(_time.Token).ConfigureAwait(false);
        return PipeReader.Create(body, new StreamPipeReaderOptions(bufferSize: 16 * 1024));
    }

    private void ReadEnd(byte[] end)
    {
        string mediaType = _format.Format.MediaTypes[0];
        RpcMetadata trailers = HttpErrorReader.ReadEnd(mediaType, end)
            ?? throw HttpErrorReader.ReadAfterReplies(
                _call.Method.FullName, mediaType, end, ReadTrailers());
        if (_call.Options?.Response is { } info)
        {
            info.Trailers = trailers;
        }
    }

    private RpcMetadata ReadTrailers()
    {
        RpcMetadata trailers = HttpResponseMetadata.TrailersOf(_response!);
        if (_call.Options?.Response is { } info)
        {
            info.Trailers = trailers;
        }

        return trailers;
    }

    private async ValueTask DropAsync()
    {
        if (_reader is { } reader)
        {
            _reader = null;
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
