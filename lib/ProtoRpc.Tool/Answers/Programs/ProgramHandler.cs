using Google.Protobuf;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Answers each call by running a program: requests as lines of JSON on its standard input, replies
/// on its standard output, and its exit code is the status.</summary>
/// <param name="program">The program.</param>
/// <param name="slots">Limits the programs that run at the same time.</param>
/// <param name="console">Gets what programs that succeed write to their standard error.</param>
internal sealed class ProgramHandler(HandlerProgram program, ProgramSlots slots, ToolConsole console)
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;

    public RpcMethodHandler ToHandler() => RpcMethodHandler.OfStreams(AnswerAsync);

    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        using IDisposable slot = await slots.TakeAsync(context.CancellationToken);
        using RunningProgram running = RunningProgram.Start(
            program, CallVariables.Of(context, program.Environment));
        using CancellationTokenRegistration registration =
            context.CancellationToken.Register(running.End);
        using CancellationTokenSource reading = new();

        // On a separate thread, because the program may write output before it has read all input.
        Task feeding = Task.Run(
            () => FeedAsync(stream, running.Input, reading.Token), CancellationToken.None);
        try
        {
            await (context.Method.IsServerStreaming
                ? SendLinesAsync(context, stream, running)
                : SendOneAsync(context, stream, running, feeding));
        }
        catch (RpcException) when (feeding.IsFaulted)
        {
            // What is wrong with a request is the caller's to know.
            await feeding;
            throw;
        }
        finally
        {
            await reading.CancelAsync();
            running.End();
        }
    }

    private async Task SendOneAsync(
        RpcServerCallContext context, RpcServerStream stream, RunningProgram running, Task feeding)
    {
        OutputLines output = new(running.Output, MaxBytes);
        byte[] json = await running.OfOutputAsync(output.ReadAllAsync(), context.CancellationToken);
        await RequireSuccessAsync(context, running);
        if (feeding.IsFaulted)
        {
            await feeding;
        }

        await stream.WriteAsync(ProgramReply.Read(context.Method, json, program.Name));
    }

    private async Task SendLinesAsync(
        RpcServerCallContext context, RpcServerStream stream, RunningProgram running)
    {
        OutputLines output = new(running.Output, MaxBytes);
        while (await running.OfOutputAsync(output.ReadLineAsync(), context.CancellationToken) is { } line)
        {
            if (line.AsSpan().ContainsAnyExcept(" \r\t"u8))
            {
                await stream.WriteAsync(ProgramReply.Read(context.Method, line, program.Name));
            }
        }

        await RequireSuccessAsync(context, running);
    }

    private async Task RequireSuccessAsync(RpcServerCallContext context, RunningProgram running)
    {
        int code = await running.Ended.WaitAsync(context.CancellationToken);
        string error = await running.ReadErrorAsync();
        if (code != 0)
        {
            throw ProgramReply.Failure(code, error, program.Name);
        }

        if (error.Length > 0)
        {
            console.WriteError($"{program.Name}: {TerminalText.Neutralize(error)}");
        }
    }

    private static async Task FeedAsync(RpcServerStream stream, Stream input, CancellationToken ended)
    {
        try
        {
            await foreach (IMessage request in stream.ReadAllAsync(ended))
            {
                byte[] line = [.. MessageFormats.Json.ToArray(request), (byte)'\n'];
                await input.WriteAsync(line, ended);
                await input.FlushAsync(ended);
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // A program need not read its requests.
        }
        finally
        {
            CloseQuietly(input);
        }
    }

    private static void CloseQuietly(Stream input)
    {
        try
        {
            input.Dispose();
        }
        catch (IOException)
        {
            // The program has ended.
        }
    }
}
