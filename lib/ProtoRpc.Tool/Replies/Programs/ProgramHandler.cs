using System.Globalization;
using System.Text.Json;

namespace ProtoRpc.Tool.Replies.Programs;

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
            program, CallVariables.Create(context, program.Environment));
        using CancellationTokenRegistration registration = context.CancellationToken.Register(running.End);
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
            // If reading the requests failed, the caller receives that error.
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
            // The program may end without reading its requests.
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
            // The program has ended, which closed the pipe.
        }
    }
}

/// <summary>Reads the replies of programs.</summary>
internal static class ProgramReply
{
    // The base of the tool's exit codes for failed calls: the handler may be a call of the tool.
    private const int ToolStatusBase = 64;
    private const int SignalBase = 128;

    /// <summary>A reply of JSON text; no text is an empty message.</summary>
    /// <exception cref="RpcException">Internal: the output is not a reply of the method.</exception>
    public static DynamicMessage Read(RpcMethodInfo method, ReadOnlyMemory<byte> json, string program)
    {
        try
        {
            return json.Span.ContainsAnyExcept(" \r\n\t"u8)
                ? MessageFormats.Json.Read(
                    method.ReplyType, json, new FormatOptions { Schema = method.ReplyType.Schema })
                : new DynamicMessage(method.ReplyType);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler program {program} did not write a {method.ReplyType.FullName}: {e.Message}", e);
        }
    }

    /// <summary>The failure of a call whose program exited with another code than 0.</summary>
    public static RpcException Failure(int exitCode, string error, string program)
    {
        RpcStatusCode status = exitCode switch
        {
            // Most programs exit with 1 when they fail, which would be Cancelled.
            1 => RpcStatusCode.Unknown,
            <= (int)RpcStatusCode.Unauthenticated => (RpcStatusCode)exitCode,
            > ToolStatusBase and <= ToolStatusBase + (int)RpcStatusCode.Unauthenticated =>
                (RpcStatusCode)(exitCode - ToolStatusBase),
            > SignalBase => RpcStatusCode.Internal,
            _ => RpcStatusCode.Unknown,
        };
        string end = exitCode > SignalBase
            ? $"was ended by signal {exitCode - SignalBase}"
            : $"ended with exit code {exitCode}";
        return new RpcException(status, error.Length > 0 ? error : $"The handler program {program} {end}.");
    }
}

/// <summary>The environment variables that describe a call to a program.</summary>
internal static class CallVariables
{
    private const string Prefix = "PROTORPC_";

    /// <summary>The variables of a call. Each name begins with <c>PROTORPC_</c>, so that no header can set a
    /// variable that means something else.</summary>
    public static IEnumerable<KeyValuePair<string, string>> Create(
        RpcServerCallContext context, ProgramEnvironment environment)
    {
        yield return Variable("METHOD", context.Method.FullName);
        yield return Variable("SERVICE", context.Method.Service.FullName);
        yield return Variable("ENDPOINT", context.Endpoint.ToString());
        yield return Variable("PEER", context.ClientAddress);
        yield return Variable("USER", context.User.Name);
        if (context.Deadline is { } deadline)
        {
            yield return Variable(
                "DEADLINE", deadline.UtcDateTime.ToString("O", CultureInfo.InvariantCulture));
        }

        yield return Variable("HEADERS", Encoding.UTF8.GetString(HeadersOf(context, environment)));
        foreach (IGrouping<string, KeyValuePair<string, object>> header in context.RequestHeaders
            .Where(header => header.Value is string && IsSafe(header.Key))
            .Where(header => environment.HasHeader(header.Key))
            .GroupBy(header => header.Key))
        {
            yield return Variable(
                $"HEADER_{header.Key.ToUpperInvariant().Replace('-', '_')}",
                string.Join(", ", header.Select(one => one.Value)));
        }
    }

    /// <summary>The headers as a JSON object: a text, or a list of several, and bytes as base64.</summary>
    public static byte[] HeadersOf(RpcServerCallContext context, ProgramEnvironment environment)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream))
        {
            WriteHeaders(writer, context, environment);
        }

        return stream.ToArray();
    }

    /// <summary>Writes the same as a value.</summary>
    public static void WriteHeaders(
        Utf8JsonWriter writer, RpcServerCallContext context, ProgramEnvironment environment)
    {
        writer.WriteStartObject();
        foreach (string name in context.RequestHeaders.Names.Where(environment.HasHeader))
        {
            IReadOnlyList<object> values = context.RequestHeaders.GetAll(name);
            writer.WritePropertyName(name);
            if (values.Count == 1)
            {
                Write(writer, values[0]);
                continue;
            }

            writer.WriteStartArray();
            foreach (object value in values)
            {
                Write(writer, value);
            }

            writer.WriteEndArray();
        }

        writer.WriteEndObject();
    }

    private static void Write(Utf8JsonWriter writer, object value)
    {
        if (value is byte[] bytes)
        {
            writer.WriteBase64StringValue(bytes);
        }
        else
        {
            writer.WriteStringValue((string)value);
        }
    }

    // Other characters would let two headers have the same variable: x_user and x-user.
    private static bool IsSafe(string name) => name.All(c => char.IsAsciiLetterOrDigit(c) || c == '-');

    // The value of an environment variable ends at its first NUL.
    private static KeyValuePair<string, string> Variable(string name, string? value) =>
        new(Prefix + name, (value ?? "").Replace("\0", "", StringComparison.Ordinal));
}
