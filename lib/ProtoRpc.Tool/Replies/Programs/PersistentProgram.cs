using System.Collections.Concurrent;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace ProtoRpc.Tool.Replies.Programs;

/// <summary>Answers calls by a pool of programs that stay, each with one call at a time.</summary>
/// <param name="program">The program.</param>
/// <param name="slots">Bounds the programs.</param>
internal sealed class PersistentProgramHandler(HandlerProgram program, ProgramSlots slots) : IAsyncDisposable
{
    private readonly ConcurrentStack<PersistentProgram> _idle = new();
    private volatile bool _isStopped;

    public RpcMethodHandler ToHandler() => RpcMethodHandler.OfStreams(AnswerAsync);

    /// <summary>Ends the programs that wait.</summary>
    public async ValueTask DisposeAsync()
    {
        _isStopped = true;
        List<Task> stopping = [];
        while (_idle.TryPop(out PersistentProgram? kept))
        {
            stopping.Add(kept.StopAsync());
        }

        await Task.WhenAll(stopping);
    }

    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        using IDisposable slot = await slots.TakeAsync(context.CancellationToken);
        PersistentProgram kept = Take();
        bool isOfUse = false;
        try
        {
            RpcException? failure = await kept.AnswerAsync(context, stream);
            isOfUse = !context.CancellationToken.IsCancellationRequested;
            if (failure is not null)
            {
                throw failure;
            }
        }
        finally
        {
            if (isOfUse && !_isStopped)
            {
                _idle.Push(kept);
            }
            else
            {
                kept.Dispose();
            }
        }
    }

    private PersistentProgram Take()
    {
        while (_idle.TryPop(out PersistentProgram? kept))
        {
            if (kept.IsReady)
            {
                return kept;
            }

            kept.Dispose();
        }

        return new PersistentProgram(program);
    }
}

/// <summary>A program that handles one call after the other: it reads a line of JSON for each call from its
/// standard input, and writes a line for each reply to its standard output.</summary>
/// <remarks>
/// The line of a call has <c>id</c>, <c>method</c>, <c>headers</c>, <c>peer</c>, <c>user</c>, and
/// <c>request</c>; a method that streams its requests gets them as lines with <c>request</c> after it, and
/// then <c>{"end":true}</c>. The program writes <c>{"reply":{...}}</c>, after the replies of a stream
/// <c>{"end":true}</c>, or <c>{"status":"NOT_FOUND","message":"..."}</c>. An <c>id</c> in its lines must be
/// that of the call.
/// </remarks>
internal sealed class PersistentProgram : IDisposable
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;
    private static readonly TimeSpan LastWords = TimeSpan.FromSeconds(2);

    private readonly HandlerProgram _program;
    private readonly RunningProgram _running;
    private readonly OutputLines _output;
    private Task<byte[]?> _next;
    private long _calls;

    public PersistentProgram(HandlerProgram program)
    {
        _program = program;
        _running = RunningProgram.Start(program, []);
        _output = new OutputLines(_running.Output, MaxBytes);
        _next = Task.Run(_output.ReadLineAsync);

        // Cleans up when the program ends and not at the next call, which may be hours later: the system may
        // have assigned the process group's id to other processes by then.
        _ = _running.Ended.ContinueWith(
            _ => _running.End(), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
    }

    /// <summary>Whether it runs and has written nothing that no call asked for.</summary>
    public bool IsReady => !_running.Ended.IsCompleted && !_next.IsCompleted;

    /// <summary>Answers a call.</summary>
    /// <returns>The failure that the program returned for the call, after which it can handle further calls;
    /// null for none.</returns>
    /// <exception cref="RpcException">Unavailable: the program ended. Internal: its output is not a reply.
    /// The program cannot be used again.</exception>
    public async ValueTask<RpcException?> AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        using CancellationTokenRegistration registration = context.CancellationToken.Register(_running.End);
        long id = ++_calls;
        Task feeding = Task.Run(() => FeedAsync(context, stream, id), CancellationToken.None);
        try
        {
            RpcException? failure = await ReadRepliesAsync(context, stream, id);

            // If the program replies before it has read all requests, it would read the rest as part of the
            // next call. So the program cannot be used again.
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

    /// <summary>Closes the program's input, and kills the program if it does not end.</summary>
    public async Task StopAsync()
    {
        try
        {
            _running.Input.Dispose();
        }
        catch (IOException)
        {
            // The program has ended.
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
            (DynamicMessage? reply, RpcException? failure) = ProgramLine.Read(
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
                await WriteAsync(ProgramLine.Call(context, id, request: null, _program.Environment));
                await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
                {
                    await WriteAsync(ProgramLine.Request(request));
                }

                await WriteAsync(ProgramLine.End());
            }
            else
            {
                await WriteAsync(
                    ProgramLine.Call(context, id, await stream.ReadAsync(), _program.Environment));
            }
        }
        catch (IOException)
        {
            // The program has closed its input. The end of its output reports the reason.
        }
    }

    private async Task WriteAsync(byte[] line)
    {
        await _running.Input.WriteAsync(line);
        await _running.Input.FlushAsync();
    }
}

/// <summary>The lines that the tool and a persistent program write.</summary>
internal static class ProgramLine
{
    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = 400,
        SkipValidation = true,
    };

    private static readonly JsonDocumentOptions Reading = new() { MaxDepth = 400 };

    /// <summary>The line that begins a call.</summary>
    public static byte[] Call(
        RpcServerCallContext context, long id, IMessage? request,
        ProgramEnvironment environment) => Write(writer =>
    {
        writer.WriteNumber("id", id);
        writer.WriteString("method", context.Method.FullName);
        writer.WritePropertyName("headers");
        CallVariables.WriteHeaders(writer, context, environment);
        writer.WriteString("peer", context.ClientAddress);
        writer.WriteString("user", context.User.Name);
        if (context.Deadline is { } deadline)
        {
            writer.WriteString("deadline", deadline.UtcDateTime);
        }

        if (request is not null)
        {
            WriteRequest(writer, request);
        }
    });

    /// <summary>The line of a request of a stream.</summary>
    public static byte[] Request(IMessage request) => Write(writer => WriteRequest(writer, request));

    /// <summary>The line after the last request of a stream.</summary>
    public static byte[] End() => Write(writer => writer.WriteBoolean("end", true));

    /// <summary>Reads a line of a program: a reply, a failure, or neither for the end of a stream.</summary>
    /// <exception cref="RpcException">Internal: the line has none of these forms.</exception>
    public static (DynamicMessage? Reply, RpcException? Failure) Read(
        RpcMethodInfo method, byte[] line, long id, string program)
    {
        using JsonDocument document = Parse(line, program);
        JsonElement root = document.RootElement;
        if (root.ValueKind != JsonValueKind.Object)
        {
            throw NoAnswer(program, "it is not an object");
        }

        if (root.TryGetProperty("id", out JsonElement given)
            && (given.ValueKind != JsonValueKind.Number || !given.TryGetInt64(out long number)
                || number != id))
        {
            throw NoAnswer(program, "its 'id' is not the id of the call");
        }

        if (root.TryGetProperty("reply", out JsonElement reply))
        {
            return (ProgramReply.Read(method, JsonSpan(reply), program), null);
        }

        if (root.TryGetProperty("status", out JsonElement status))
        {
            RpcStatusCode code = StatusText.Find(
                status.ValueKind == JsonValueKind.String ? status.GetString()! : status.GetRawText())
                ?? throw NoAnswer(program, "its 'status' is not the name or number of a status");
            string text = root.TryGetProperty("message", out JsonElement message)
                && message.ValueKind == JsonValueKind.String ? message.GetString()! : "";
            return code == RpcStatusCode.OK ? (null, null) : (null, new RpcException(code, text));
        }

        return root.TryGetProperty("end", out _) && method.IsServerStreaming
            ? (null, null)
            : throw NoAnswer(program, "it has no 'reply' and no 'status'");
    }

    private static ReadOnlyMemory<byte> JsonSpan(JsonElement element) =>
        System.Text.Encoding.UTF8.GetBytes(element.GetRawText());

    private static JsonDocument Parse(byte[] line, string program)
    {
        try
        {
            return JsonDocument.Parse(line, Reading);
        }
        catch (JsonException e)
        {
            throw NoAnswer(program, $"it is not JSON: {e.Message}");
        }
    }

    private static RpcException NoAnswer(string program, string why) => new(
        RpcStatusCode.Internal, $"The handler program {program} wrote a line that is not a reply: {why}");

    private static void WriteRequest(Utf8JsonWriter writer, IMessage request)
    {
        writer.WritePropertyName("request");
        writer.WriteRawValue(MessageFormats.Json.ToArray(request), skipInputValidation: true);
    }

    private static byte[] Write(Action<Utf8JsonWriter> members)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, Writing))
        {
            writer.WriteStartObject();
            members(writer);
            writer.WriteEndObject();
        }

        stream.WriteByte((byte)'\n');
        return stream.ToArray();
    }
}
