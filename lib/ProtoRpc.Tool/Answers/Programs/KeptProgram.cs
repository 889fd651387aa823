using Google.Protobuf;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>A program that answers one call after the other: a line of JSON for each call on its standard
/// input, and a line for each reply on its standard output.</summary>
/// <remarks>
/// The line of a call has <c>id</c>, <c>method</c>, <c>headers</c>, <c>peer</c>, <c>user</c>, and
/// <c>request</c>; a method that streams its requests gets them as lines with <c>request</c> after it, and
/// then <c>{"end":true}</c>. The program writes <c>{"reply":{...}}</c>, after the replies of a stream
/// <c>{"end":true}</c>, or <c>{"status":"NOT_FOUND","message":"..."}</c>. An <c>id</c> in its lines must be
/// that of the call.
/// </remarks>
internal sealed class KeptProgram : IDisposable
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;
    private static readonly TimeSpan LastWords = TimeSpan.FromSeconds(2);

    private readonly HandlerProgram _program;
    private readonly RunningProgram _running;
    private readonly OutputLines _output;
    private Task<byte[]?> _next;
    private long _calls;

    public KeptProgram(HandlerProgram program)
    {
        _program = program;
        _running = RunningProgram.Start(program, []);
        _output = new OutputLines(_running.Output, MaxBytes);
        _next = Task.Run(_output.ReadLineAsync);

        // A program may end hours before the next call looks for one. By then, the system may have given its
        // id to another group of processes.
        _ = _running.Ended.ContinueWith(
            _ => _running.End(), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
    }

    /// <summary>Whether it runs and has written nothing that no call asked for.</summary>
    public bool IsReady => !_running.Ended.IsCompleted && !_next.IsCompleted;

    /// <summary>Answers a call.</summary>
    /// <returns>The failure that the program gave to the call, after which it can answer others; null for
    /// none.</returns>
    /// <exception cref="RpcException">Unavailable: it ended; Internal: it wrote what is no answer. It is of
    /// no use then.</exception>
    public async ValueTask<RpcException?> AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        using CancellationTokenRegistration registration =
            context.CancellationToken.Register(_running.End);
        long id = ++_calls;
        Task feeding = Task.Run(() => FeedAsync(context, stream, id), CancellationToken.None);
        try
        {
            RpcException? failure = await ReadRepliesAsync(context, stream, id);

            // A program that answers before it has the last request would get that in the next call.
            return failure is null || feeding.IsCompletedSuccessfully
                ? await AfterAsync(feeding, context.CancellationToken, failure)
                : throw failure;
        }
        catch (RpcException) when (feeding.IsFaulted)
        {
            await feeding;
            throw;
        }
    }

    /// <summary>Closes its input, so that it ends, and ends it where it does not.</summary>
    public async Task StopAsync()
    {
        try
        {
            _running.Input.Dispose();
        }
        catch (IOException)
        {
            // It has ended.
        }

        await Task.WhenAny(_running.Ended, Task.Delay(LastWords));
        Dispose();
    }

    public void Dispose()
    {
        _running.End();
        _running.Dispose();
    }

    private static async Task<RpcException?> AfterAsync(
        Task feeding, CancellationToken cancellation, RpcException? failure)
    {
        await feeding.WaitAsync(cancellation);
        return failure;
    }

    private async Task<RpcException?> ReadRepliesAsync(
        RpcServerCallContext context, RpcServerStream stream, long id)
    {
        while (true)
        {
            byte[] line = await NextAsync(context.CancellationToken);
            (DynamicMessage? reply, RpcException? failure) = KeptLine.Read(
                context.Method, line, id, _program.Name);
            if (failure is not null)
            {
                return failure;
            }

            if (reply is not null)
            {
                await stream.WriteAsync(reply);
            }

            if (reply is null || !context.Method.IsServerStreaming)
            {
                return null;
            }
        }
    }

    private async Task<byte[]> NextAsync(CancellationToken cancellation)
    {
        byte[]? line = await _next.WaitAsync(cancellation);
        if (line is null)
        {
            cancellation.ThrowIfCancellationRequested();
            await Task.WhenAny(_running.Ended, Task.Delay(LastWords, cancellation));
            string error = await _running.ReadErrorAsync();
            throw new RpcException(
                RpcStatusCode.Unavailable,
                $"The handler program {_program.Name} ended during the call"
                + (error.Length > 0 ? $": {error}" : "."));
        }

        _next = Task.Run(_output.ReadLineAsync, CancellationToken.None);
        return line;
    }

    private async Task FeedAsync(RpcServerCallContext context, RpcServerStream stream, long id)
    {
        try
        {
            if (context.Method.IsClientStreaming)
            {
                await WriteAsync(KeptLine.Call(context, id, request: null, _program.Environment));
                await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
                {
                    await WriteAsync(KeptLine.Request(request));
                }

                await WriteAsync(KeptLine.End());
            }
            else
            {
                await WriteAsync(KeptLine.Call(context, id, await stream.ReadAsync(), _program.Environment));
            }
        }
        catch (IOException)
        {
            // The end of the output says more.
        }
    }

    private async Task WriteAsync(byte[] line)
    {
        await _running.Input.WriteAsync(line);
        await _running.Input.FlushAsync();
    }
}
