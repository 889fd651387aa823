using System.CommandLine.Parsing;
using System.Runtime.ExceptionServices;
using ProtoRpc.Messages;

namespace ProtoRpc.Tool.Verbs;

/// <summary>One call of <c>protorpc call</c>, or with <c>--all</c> one of each page.</summary>
internal sealed class MethodCall(
    ServerSession session, RpcMethodInfo method, RpcMetadata headers, ReplyOutput output, CallReport report,
    bool all, ToolConsole console)
{
    private const int MaxUnreachable = 5;
    private const int MaxWarningLength = 1000;

    private readonly RpcReplyInfo _response = new() { HasProtocolHeaders = true };

    // The error of a request that cannot be read, or a reply that cannot be written.
    private ExceptionDispatchInfo? _broken;

    /// <summary>Makes the call, and writes its replies as they arrive.</summary>
    /// <exception cref="RpcException">A request cannot be read.</exception>
    /// <exception cref="CallFailedException">The call failed.</exception>
    /// <exception cref="OperationCanceledException">The user stopped it.</exception>
    public async Task RunAsync(IAsyncEnumerable<DynamicMessage> requests, CancellationToken cancellation)
    {
        // A single request is read before connecting, because it may be invalid.
        DynamicMessage? only = method.IsClientStreaming ? null : await OnlyAsync(requests, cancellation);
        RpcClient client = await session.ConnectAsync(method.Service.FullName, cancellation);
        RpcCallOptions options = new()
        {
            Deadline = session.Deadline,
            Timeout = session.Deadline is null ? null : Timeout.InfiniteTimeSpan,
            Headers = headers,
            ReplyInfo = _response,
        };
        report.Begin(session, method, headers);
        try
        {
            if (all)
            {
                await CallPagesAsync(client, only!, options, cancellation);
            }
            else if (method.IsUnary)
            {
                report.Sent();
                Show(await client.InvokeAsync(method, only!, options, cancellation));
            }
            else
            {
                await StreamAsync(client, options, only is null ? requests : One(only), cancellation);
            }
        }
        catch (RpcException e) when (_broken is null)
        {
            report.End(session, _response);
            cancellation.ThrowIfCancellationRequested();
            throw new CallFailedException(e);
        }

        report.End(session, _response);
    }

    private async Task CallPagesAsync(
        RpcClient client, DynamicMessage first, RpcCallOptions options, CancellationToken cancellation)
    {
        PageCursor pages = new(PagedMethod.Create(method), first);
        DynamicMessage reply;
        do
        {
            report.Sent();
            reply = await client.InvokeAsync(method, pages.Request, options, cancellation);
            string[] unreachable = [.. pages.UnreachableOf(reply).Take(MaxUnreachable)];
            if (unreachable.Length > 0)
            {
                console.WriteErrorLine(TerminalText.OneLine(
                    $"The list is not complete. The server could not reach {string.Join(", ", unreachable)}.",
                    MaxWarningLength));
            }

            if (pages.Method.Elements.MessageType is null)
            {
                // The elements are not messages, so the output writes the values of this field of the page.
                Show(reply);
                continue;
            }

            foreach (DynamicMessage element in pages.ElementsOf(reply))
            {
                Show(element);
            }
        }
        while (pages.MoveNext(reply));
    }

    private async Task StreamAsync(
        RpcClient client, RpcCallOptions options, IAsyncEnumerable<DynamicMessage> requests,
        CancellationToken cancellation)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        await using RpcStreamingCall call = await client.OpenAsync(method, options, end.Token);
        Task sending = SendAsync(call, requests, end);
        try
        {
            while (await call.ReadAsync(end.Token))
            {
                Show(call.Current);
            }
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException)
        {
            cancellation.ThrowIfCancellationRequested();
            _broken?.Throw();
            throw;
        }
        finally
        {
            // The server may end the call before all requests were sent.
            await end.CancelAsync();
            await sending;
        }
    }

    private async Task SendAsync(
        RpcStreamingCall call, IAsyncEnumerable<DynamicMessage> requests, CancellationTokenSource end)
    {
        try
        {
            await using IAsyncEnumerator<DynamicMessage> next = requests.GetAsyncEnumerator(end.Token);
            while (await HasNextAsync(next, end))
            {
                if (!await call.SendAsync(next.Current, cancellationToken: end.Token))
                {
                    return;
                }

                report.Sent();
            }

            await call.CompleteAsync(end.Token);
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException)
        {
            // The code that reads the replies reports the error of the call.
        }
    }

    // A request that cannot be read cancels the call.
    private async Task<bool> HasNextAsync(
        IAsyncEnumerator<DynamicMessage> requests, CancellationTokenSource end)
    {
        try
        {
            return await requests.MoveNextAsync();
        }
        catch (Exception e) when (!end.IsCancellationRequested)
        {
            _broken = ExceptionDispatchInfo.Capture(e);
            await end.CancelAsync();
            throw new OperationCanceledException(end.Token);
        }
    }

    private void Show(DynamicMessage reply)
    {
        report.Received(_response);
        try
        {
            output.Write(reply);
        }
        catch (RpcException e)
        {
            // The call succeeded, but the format cannot express the reply, for example a Timestamp that is
            // out of range.
            RpcException failure = new(
                e.Code, e.ErrorId,
                $"The reply cannot be written: {e.Message} Use --format text or binary.", e);
            _broken = ExceptionDispatchInfo.Capture(failure);
            throw failure;
        }
    }

    private async Task<DynamicMessage> OnlyAsync(
        IAsyncEnumerable<DynamicMessage> requests, CancellationToken cancellation)
    {
        DynamicMessage? only = null;
        await foreach (DynamicMessage request in requests.WithCancellation(cancellation))
        {
            only = only is null
                ? request
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"{method.FullName} takes one request, and --data has more than one.");
        }

        return only ?? new DynamicMessage(method.RequestType);
    }

    private static IAsyncEnumerable<DynamicMessage> One(DynamicMessage message) =>
        new[] { message }.ToAsyncEnumerable();
}

/// <summary>The options of the verbs that call a server.</summary>
internal sealed class CallOptions
{
    // The maximum time of a timer is int.MaxValue milliseconds.
    private const int MaxSeconds = int.MaxValue / 1000;

    private readonly ToolOption<double?> _deadline = new(
        "--max-time", "SECONDS",
        "Seconds that a call may take with all that it needs before: "
        + $"{RpcLimits.Default.CallTimeout.TotalSeconds:0}, and for ever for streams.",
        "--deadline")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolOption<double?> _connectTimeout = new(
        "--connect-timeout", "SECONDS",
        "Seconds to connect: those of --max-time, or "
        + $"{RpcLimits.Default.ConnectTimeout.TotalSeconds:0}.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolOption<double?> _keepAlive = new(
        "--keepalive-time", "SECONDS",
        "Seconds after which a gRPC connection with calls on it asks whether the server is still there.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolOption<int?> _maxMessage = new(
        "--max-msg-sz", "BYTES", $"The largest message, in bytes: {RpcLimits.Default.MaxMessageBytes:N0}.");

    private readonly ToolOption<Guid?> _interfaceId = new(
        "--interface-id", "GUID", "The interface id on native endpoints, where it is not the service's own.");

    public CallOptions(Command command)
    {
        foreach (Option<double?> option in new[] { _deadline, _connectTimeout, _keepAlive })
        {
            option.Validators.Add(result => CheckSeconds(option.Name, result));
            command.Add(option);
        }

        _maxMessage.Validators.Add(result =>
        {
            if (result.Tokens is [{ Value: string text }] && int.TryParse(text, out int bytes) && bytes < 1)
            {
                result.AddError($"{_maxMessage.Name} must be from 1 to {int.MaxValue} bytes.");
            }
        });
        command.Add(_maxMessage);
        command.Add(_interfaceId);
    }

    /// <summary>How long a call with one message each way may take.</summary>
    public TimeSpan Deadline(ParseResult parsed) => Given(parsed, _deadline) ?? RpcLimits.Default.CallTimeout;

    /// <summary>The maximum time of the whole command; null if the option was not given.</summary>
    public TimeSpan? MaxTime(ParseResult parsed) => Given(parsed, _deadline);

    public RpcClientOptions ClientOptions(ParseResult parsed, string? service)
    {
        RpcLimits usual = RpcLimits.Default;
        return new RpcClientOptions
        {
            Service = service,
            InterfaceId = parsed.GetValue(_interfaceId),
            KeepAlive = Given(parsed, _keepAlive),
            Limits = usual with
            {
                ConnectTimeout =
                    Given(parsed, _connectTimeout) ?? Given(parsed, _deadline) ?? usual.ConnectTimeout,
                CallTimeout = Deadline(parsed),
                MaxMessageBytes = parsed.GetValue(_maxMessage) ?? usual.MaxMessageBytes,
            },
        };
    }

    private static TimeSpan? Given(ParseResult parsed, Option<double?> option) =>
        parsed.GetValue(option) is { } seconds ? TimeSpan.FromSeconds(seconds) : null;

    private static void CheckSeconds(string name, OptionResult result)
    {
        // The validator also runs for text that is not a number, for which another error is reported.
        if (result.Tokens is [{ Value: string text }]
            && SecondsArgument.TryParse(text, out double seconds)
            && seconds is not (> 0 and < MaxSeconds))
        {
            result.AddError($"{name} must be more than 0 and less than {MaxSeconds} seconds.");
        }
    }
}
