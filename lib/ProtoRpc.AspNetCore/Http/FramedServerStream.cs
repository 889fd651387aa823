using System.Buffers;
using System.IO.Pipelines;
using ProtoRpc.Messages;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>The messages of a call as frames in the body of its request and of its reply: of gRPC, or of
/// Connect.</summary>
/// <remarks>An abandoned handler may still read or write when the call ends: <see cref="CloseAsync"/> ends
/// this first, because the connection reuses its buffers.</remarks>
internal abstract class FramedServerStream : RpcServerStream, IDisposable
{
    private readonly RpcServerCallContext _context;
    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly FrameRules _rules;
    private readonly CancellationTokenSource? _end;
    private readonly CancellationToken _cancellation;
    private readonly SemaphoreSlim? _reading;
    private readonly SemaphoreSlim? _writing;
    private bool _ended;
    private volatile bool _closed;
    private volatile bool _isCut;
    private bool _hasBegun;
    private ContentEncoding? _encoding;

    /// <param name="method">The method.</param>
    /// <param name="context">The call.</param>
    /// <param name="input">The body of the request.</param>
    /// <param name="output">The body of the reply.</param>
    /// <param name="rules">The rules of the protocol.</param>
    protected FramedServerStream(
        ServerMethod method, RpcServerCallContext context, PipeReader input, PipeWriter output,
        FrameRules rules)
        : base(method)
    {
        _context = context;
        _input = input;
        _output = output;
        _rules = rules;
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

    /// <summary>Counts the bytes of the last request that was read.</summary>
    public required RequestMemory.Share Memory { get; init; }

    /// <summary>The compression of requests; null for none.</summary>
    public required string? Encoding { get; init; }

    /// <summary>The request, whose headers determine the form of replies.</summary>
    public required HttpRequest Request { get; init; }

    /// <summary>Whether the handler must not run on the thread that receives the connection's bytes, because
    /// it could block the thread while it waits for more bytes.</summary>
    public bool LeavesReader { get; init; }

    /// <summary>Whether a read or a write has found that the caller disconnected.</summary>
    public bool IsCut => _isCut;

    /// <summary>The received bytes of the requests, with framing and compression.</summary>
    public long BytesReceived { get; private set; }

    /// <summary>The sent bytes of the replies, with framing and compression.</summary>
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
            // CallFailure compares this error with the handler's: its text is about the request, so the
            // caller receives it.
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

    /// <summary>The call.</summary>
    protected RpcServerCallContext Context => _context;

    /// <summary>Prepares the head of the response, before the first reply.</summary>
    /// <returns>The compression of the replies; null for none.</returns>
    protected abstract ContentEncoding? BeginReplies();

    /// <summary>Reads a request.</summary>
    protected abstract IMessage Read(in ReadOnlySequence<byte> body);

    /// <summary>Writes a reply as a frame.</summary>
    /// <returns>The size of the message as it is sent.</returns>
    protected abstract int Write(PipeWriter output, IMessage reply, ContentEncoding? encoding);

    /// <summary>The error for a method with one request that got none or several.</summary>
    protected virtual RpcException NotOne(string why) => _rules.Violation(why);

    // The header of the first reply contains the encoding, so it cannot change afterwards.
    private ContentEncoding? Begin()
    {
        if (!_hasBegun)
        {
            _encoding = BeginReplies();
            _hasBegun = true;
        }

        return _encoding;
    }

    // Reads the request of a method that has only one.
    private async ValueTask<IMessage?> ReceiveOnlyAsync()
    {
        if (_ended)
        {
            return null;
        }

        IMessage only = await ReadFrameAsync().ConfigureAwait(false)
            ?? throw NotOne("the request ends before its message");
        return await ReadFrameAsync().ConfigureAwait(false) is null
            ? only
            : throw NotOne("the method takes one message, and the caller sent more");
    }

    private async ValueTask<IMessage?> ReadFrameAsync()
    {
        // The handler asks for the next request, so it no longer needs the memory of the previous one.
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
            catch (Exception e) when (e is IOException || HttpFraming.IsMalformed(Request, e))
            {
                throw e is IOException broken && HttpFraming.IsReset(Request, broken)
                    ? Cut(broken)
                    : _rules.Unreadable(e);
            }

            if (LeavesReader)
            {
                await Task.Yield();
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
                throw _rules.Violation(
                    $"the stream ends in the middle of a message, {left:N0} bytes after its start");
            }
        }

        return null;
    }

    private IMessage? TryParse(ref ReadOnlySequence<byte> buffer)
    {
        try
        {
            return GrpcFraming.TryRead(ref buffer, MaxBytes, out GrpcFrame frame, _rules)
                ? Parse(frame)
                : null;
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
            return Read(frame.Body);
        }

        ReadOnlyMemory<byte> body = GrpcEncoding.Decompress(frame.Body, Encoding, MaxBytes, _rules);
        Memory.Hold(body.Length);
        return Read(new ReadOnlySequence<byte>(body));
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
        BytesSent += Write(_output, reply, compress ? encoding : null);
    }

    private void RequireOpen()
    {
        if (_closed)
        {
            throw new OperationCanceledException("The call has ended.");
        }
    }
}
