using ProtoRpc.Tool.Answers.Programs;

namespace ProtoRpc.Tool.Repl;

/// <summary>Makes the calls of the REPL.</summary>
/// <param name="client">The connection.</param>
/// <param name="session">Names and headers.</param>
/// <param name="console">Gets the replies.</param>
internal sealed class ReplCall(RpcClient client, ReplSession session, ToolConsole console)
{
    private const string LastLine = ".";
    private static readonly FormatOptions Shown = new() { Indented = true };

    /// <summary>Calls a method, and writes its replies as they come.</summary>
    /// <param name="text">The method and its requests.</param>
    /// <param name="readLine">Reads a request of a stream; null at the end, or where it was given
    /// up.</param>
    /// <param name="cancellation">Ends the call.</param>
    public async Task RunAsync(string text, Func<TypedLine> readLine, CancellationToken cancellation)
    {
        string[] parts = text.Split(
            ' ', 2, StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (parts.Length == 0)
        {
            throw new UsageException("Type call METHOD [REQUEST].");
        }

        RpcMethodInfo method = session.Find(parts[0]);
        string request = parts.Length > 1 ? parts[1] : "";
        RpcCallOptions options = new() { Headers = session.Headers };
        if (method.IsUnary)
        {
            DynamicMessage[] messages = [.. Read(method, request)];
            if (messages.Length != 1)
            {
                throw new UsageException($"{method.FullName} takes one request, not {messages.Length}.");
            }

            Write(await client.InvokeAsync(method, messages[0], options, cancellation));
            return;
        }

        await using RpcStreamingCall call = await client.OpenAsync(method, options, cancellation);
        Task receiving = ReceiveAsync(call, cancellation);
        IEnumerable<DynamicMessage> sent = method.IsClientStreaming && request.Length == 0
            ? ReadLines(method, readLine)
            : Read(method, request);
        foreach (DynamicMessage message in sent)
        {
            if (receiving.IsCompleted || !await call.SendAsync(message, cancellationToken: cancellation))
            {
                break;
            }
        }

        await call.CompleteAsync(cancellation);
        await receiving;
    }

    private async Task ReceiveAsync(RpcStreamingCall call, CancellationToken cancellation)
    {
        // So that lines of requests can be typed meanwhile.
        await Task.Yield();
        while (await call.ReadAsync(cancellation))
        {
            Write(call.Current);
        }
    }

    private IEnumerable<DynamicMessage> ReadLines(RpcMethodInfo method, Func<TypedLine> readLine)
    {
        while (true)
        {
            TypedLine line = readLine();
            if (line.IsCancelled)
            {
                throw new OperationCanceledException();
            }

            if (line.Text is null or LastLine)
            {
                yield break;
            }

            if (line.Text.Length > 0)
            {
                foreach (DynamicMessage message in Read(method, line.Text))
                {
                    yield return message;
                }
            }
        }
    }

    // JSON, or fields with their values.
    private static IEnumerable<DynamicMessage> Read(RpcMethodInfo method, string text)
    {
        if (text.Length == 0 || text[0] is not ('{' or '['))
        {
            IReadOnlyList<string> fields = text.Length == 0 ? [] : CommandWords.Split(text, "The request");
            return
            [
                new MessageMapper().ToMessage(
                    method.RequestType, FieldAssignments.Read(method.RequestType, fields)),
            ];
        }

        return JsonArgument.Read(method.RequestType, text, method.IsClientStreaming, "The request");
    }

    private void Write(DynamicMessage reply) => console.WriteLine(
        TerminalText.Neutralize(MessageFormats.Json.ToText(reply, Shown)));
}
