namespace ProtoRpc.Tool.Replies;

/// <summary>Prints who calls what, and why calls fail.</summary>
internal sealed class CallPrinter(ToolConsole console, Func<IReadOnlyList<RpcServiceInfo>> served)
    : IRpcInterceptor
{
    private const int MaxLineLength = 4000;

    public async ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        Print(context, request);
        try
        {
            return await next(context, request);
        }
        catch (Exception e)
        {
            PrintFailure(context, e);
            throw;
        }
    }

    public async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        // The requests of a client stream are not printed, because only the handler reads them.
        Print(context, context.Method.IsClientStreaming ? null : await stream.PeekAsync());
        try
        {
            await next(context, stream);
        }
        catch (Exception e)
        {
            PrintFailure(context, e);
            throw;
        }
    }

    private void Print(RpcServerCallContext context, IMessage? request)
    {
        // Pings and other built-in calls are not printed.
        if (!served().Contains(context.Method.Service))
        {
            return;
        }

        string who = context.User.Name is { Length: > 0 } name ? name : "anonymous";
        string from = context.ClientAddress.Length > 0 ? $" from {context.ClientAddress}" : "";
        string text = request is null ? "a stream" : TextOf(request);
        Write($"{who}{from} calls {context.Method.FullName} on {context.Endpoint}: {text}");
    }

    // Some requests have no JSON, for example with a Timestamp that is out of range. Handlers still receive
    // them.
    private static string TextOf(IMessage request)
    {
        try
        {
            return MessageFormats.Json.ToText(request);
        }
        catch (RpcException)
        {
            return $"{request.CalculateSize()} bytes of {request.Descriptor.FullName}";
        }
    }

    private void PrintFailure(RpcServerCallContext context, Exception e)
    {
        string why = e switch
        {
            RpcException rpc => $"{rpc.Code}: {rpc.Message}",
            OperationCanceledException => "cancelled, or late",
            _ => e.Message,
        };
        Write($"{context.Method.FullName} failed: {why}");
    }

    // A call must not fail because the console cannot be written.
    private void Write(string text) => console.TryWriteLine(TerminalText.OneLine(text, MaxLineLength));
}
