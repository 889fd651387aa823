using System.Buffers;
using System.IO.Pipelines;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Messages;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>The messages of a call in the body of its request and of its reply.</summary>
/// <remarks>A handler that was given up may still read or write when the call ends:
/// <see cref="CloseAsync"/> ends that first, for the connection uses its buffers again.</remarks>
internal sealed class GrpcServerStream : RpcServerStream, IDisposable
{
    private readonly RpcServerCallContext _context;
    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly GrpcResponse _response;
    private readonly CancellationTokenSource? _end;
    private readonly CancellationToken _cancellation;
    private readonly SemaphoreSlim? _reading;
    private readonly SemaphoreSlim? _writing;
    private bool _ended;
    private volatile bool _closed;
    private volatile bool _isCut;
    private ContentEncoding? _encoding;

    /// <param name="method">The method.</param>
    /// <param name="context">The call.</param>
    /// <param name="input">The body of the request.</param>
    /// <param name="output">The body of the reply.</param>
    /// <param name="response">What goes around the reply's messages.</param>
    public GrpcServerStream(
        ServerMethod method, RpcServerCallContext context,
        PipeReader input, PipeWriter output, GrpcResponse response)
        : base(method)
    {
        _context = context;
        _input = input;
        _output = output;
        _response = response;
        _cancellation = context.Clock.Aborted;
        if (!method.Info.IsUnary)
        {
            _end = CancellationTokenSource.CreateLinkedTokenSource(context.CancellationToken);
            _cancellation = _end.Token;
            _reading = new SemaphoreSlim(1, 1);
            _writing = new SemaphoreSlim(1, 1);
        }
    }

    /// <summary>The largest request.</summary>
    public required int MaxBytes { get; init; }

    /// <summary>Where the request that was read last counts.</summary>
    public required RequestMemory.Share Memory { get; init; }

    /// <summary>How requests are compressed.</summary>
    public required string? Encoding { get; init; }

    /// <summary>The request, for how the caller takes replies.</summary>
    public required HttpRequest Request { get; init; }

    /// <summary>Whether a read or a write has found that the caller disconnected.</summary>
    public bool IsCut => _isCut;

    /// <summary>The bytes of the requests, as they came.</summary>
    public long BytesReceived { get; private set; }

    /// <summary>The bytes of the replies, as they went.</summary>
    public long BytesSent { get; private set; }

    /// <summary>Ends what still reads or writes.</summary>
    public async ValueTask CloseAsync()
    {
        if (_end is not null)
        {
            await _end.CancelAsync().ConfigureAwait(false);
            await _reading!.WaitAsync().ConfigureAwait(false);
            await _writing!.WaitAsync().ConfigureAwait(false);
            _closed = true;
            _reading.Release();
            _writing.Release();
        }
    }

    public void Dispose()
    {
        Memory.Release();
        _end?.Dispose();
    }

    internal override async ValueTask<IMessage?> ReceiveAsync()
    {
        if (_reading is null)
        {
            return await ReceiveOnlyAsync().ConfigureAwait(false);
        }

        await _reading.WaitAsync(_cancellation).ConfigureAwait(false);
        try
        {
            RequireOpen();
            return Method.Info.IsClientStreaming
                ? await ReadFrameAsync().ConfigureAwait(false)
                : await ReceiveOnlyAsync().ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            // The error of the request is for its sender, also if it passes through the handler.
            _context.Refusal = e;
            throw;
        }
        finally
        {
            _reading.Release();
        }
    }

    internal override async ValueTask BeginAsync()
    {
        if (_writing is null)
        {
            return;
        }

        await _writing.WaitAsync(_cancellation).ConfigureAwait(false);
        try
        {
            RequireOpen();
            Begin();
            await FlushAsync().ConfigureAwait(false);
        }
        finally
        {
            _writing.Release();
        }
    }

    internal override async ValueTask SendAsync(IMessage reply, bool compress)
    {
        if (_writing is null)
        {
            Write(reply, compress);
            return;
        }

        await _writing.WaitAsync(_cancellation).ConfigureAwait(false);
        try
        {
            RequireOpen();
            Write(reply, compress);
            await FlushAsync().ConfigureAwait(false);
        }
        finally
        {
            _writing.Release();
        }
    }

    // The encoding is named in the head of the response, so it stays as it is for the first reply.
    private ContentEncoding? Begin()
    {
        if (!_response.HasBody)
        {
            _encoding = ContentEncoding.Get(_context.ReplyCompression) is { IsSentByGrpc: true } encoding
                && GrpcRequest.Accepts(Request, encoding) ? encoding : null;
            _response.Begin(_context, _encoding);
        }

        return _encoding;
    }

    // The one request of a method that takes one.
    private async ValueTask<IMessage?> ReceiveOnlyAsync()
    {
        if (_ended)
        {
            return null;
        }

        IMessage only = await ReadFrameAsync().ConfigureAwait(false)
            ?? throw GrpcDefects.BadFrame("the request ends before its message");
        return await ReadFrameAsync().ConfigureAwait(false) is null
            ? only
            : throw GrpcDefects.BadFrame("the method takes one message, and the caller sent more");
    }

    private async ValueTask<IMessage?> ReadFrameAsync()
    {
        // The one before was handled.
        if (Method.Info.IsClientStreaming)
        {
            Memory.Release();
        }

        while (!_ended)
        {
            ReadResult result;
            try
            {
                result = await _input.ReadAsync(_cancellation).ConfigureAwait(false);
            }
            catch (IOException e)
            {
                throw HttpFraming.IsReset(Request, e)
                    ? Cut(e)
                    : GrpcDefects.BadFrame($"the request cannot be read ({e.Message})", e);
            }

            ReadOnlySequence<byte> buffer = result.Buffer;
            Memory.Hold(buffer.Length);
            if (TryParse(ref buffer) is { } request)
            {
                _input.AdvanceTo(buffer.Start);
                return request;
            }

            _ended = result.IsCompleted;
            if (!_ended)
            {
                _input.AdvanceTo(buffer.Start, buffer.End);
                continue;
            }

            long left = buffer.Length;
            _input.AdvanceTo(buffer.End);
            if (left > 0)
            {
                throw GrpcDefects.BadFrame(
                    $"the stream ends in the middle of a message, {left:N0} bytes after its start");
            }
        }

        return null;
    }

    private IMessage? TryParse(ref ReadOnlySequence<byte> buffer)
    {
        try
        {
            return GrpcFraming.TryRead(ref buffer, MaxBytes, out GrpcFrame frame) ? Parse(frame) : null;
        }
        catch (RpcException e) when (e.ErrorId == RpcErrorIds.MessageTooLarge)
        {
            throw MessageErrors.OverServerLimit(MaxBytes);
        }
    }

    private IMessage Parse(GrpcFrame frame)
    {
        BytesReceived += frame.Body.Length;
        _context.IsRequestCompressed = frame.IsCompressed;
        if (!frame.IsCompressed)
        {
            return Method.ReadRequest(frame.Body, _context);
        }

        ReadOnlyMemory<byte> body = GrpcEncoding.Decompress(frame.Body, Encoding, MaxBytes);
        Memory.Hold(body.Length);
        return Method.ReadRequest(body.Span, _context);
    }

    private async ValueTask FlushAsync()
    {
        FlushResult flushed = await _output.FlushAsync(_cancellation).ConfigureAwait(false);
        if (flushed.IsCompleted || flushed.IsCanceled)
        {
            throw Cut(cause: null);
        }
    }

    private OperationCanceledException Cut(IOException? cause)
    {
        _isCut = true;
        return new OperationCanceledException("The caller disconnected.", cause);
    }

    private void Write(IMessage reply, bool compress)
    {
        ContentEncoding? encoding = Begin();
        BytesSent += GrpcFrameWriter.Write(_output, reply, compress ? encoding : null);
    }

    private void RequireOpen()
    {
        if (_closed)
        {
            throw new OperationCanceledException("The call has ended.");
        }
    }
}
