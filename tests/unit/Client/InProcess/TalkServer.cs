using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.Client.InProcess;

/// <summary>The service of talk.proto on an in-process endpoint of its own; what a text says is what a
/// handler does.</summary>
internal sealed class TalkServer : IDisposable
{
    public TalkServer(RpcServerOptions? options = null, string? name = null) =>
        Server = RpcServer.Create(Schema, "talk.Talk", options)
            .Handle<Words, Words>("Say", SayAsync)
            .HandleStreaming<Words, Words>("Split", Split)
            .HandleStreaming<Words, Words>("Join", Join)
            .HandleStreaming<Words, Words>("Chat", Chat)
            .AddEndpoint($"inproc://{name ?? $"test-{Guid.NewGuid():N}"}")
            .StartListening();

    public static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(TalkReflection.Descriptor);

    public RpcServer Server { get; }

    public RpcEndpoint Endpoint => Server.Endpoints[0];

    public string Caller { get; private set; } = "";

    public Words? Received { get; private set; }

    /// <summary>Ends when a handler waits.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Ends when the handler that waited was cancelled.</summary>
    public TaskCompletionSource Cancelled { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public RpcClient Connect(RpcClientOptions? options = null) =>
        RpcClient.Connect(Endpoint, Schema, options);

    public void Dispose() => Server.StopAsync(TimeSpan.Zero).GetAwaiter().GetResult();

    private async ValueTask<Words> SayAsync(RpcServerCallContext context, Words request)
    {
        Received = request;
        Caller = $"{context.User.Name}|{context.AuthenticationType}|{context.ProcessId}|{context.IsLocal}|"
            + $"{context.ClientAddress}|{context.Endpoint}|{context.ProtectionLevel}";
        switch (request.Text)
        {
            case "fail":
                throw new FormatException("out of paper");
            case "refuse":
                context.ReplyTrailers.Add("why", "closed");
                throw new RpcException(RpcStatusCode.FailedPrecondition, "The shop is closed.");
            case "wait":
                await WaitAsync(context).ConfigureAwait(false);
                break;
            case "headers":
                context.ReplyHeaders.Add("first", $"got {context.RequestHeaders.GetText("token")}");
                context.ReplyTrailers.Add("last", "bye");
                break;
            case "count":
                context.Session["n"] = (context.Session["n"] as int? ?? 0) + 1;
                return new Words { Text = $"{context.Session["n"]}" };
        }

        return new Words { Text = request.Text, Payload = request.Payload };
    }

    private async IAsyncEnumerable<Words> Split(
        RpcServerCallContext context, IAsyncEnumerable<Words> requests)
    {
        await foreach (Words request in requests.ConfigureAwait(false))
        {
            foreach (string word in request.Text.Split(' '))
            {
                if (word == "fail")
                {
                    throw new RpcException(RpcStatusCode.DataLoss, "No more words.");
                }

                if (word == "wait")
                {
                    await WaitAsync(context).ConfigureAwait(false);
                }

                yield return new Words { Text = word };
            }
        }
    }

    private static async IAsyncEnumerable<Words> Join(
        RpcServerCallContext context, IAsyncEnumerable<Words> requests)
    {
        List<string> words = [];
        await foreach (Words request in requests.ConfigureAwait(false))
        {
            words.Add(request.Text);
        }

        yield return new Words { Text = string.Join(' ', words) };
    }

    private static async IAsyncEnumerable<Words> Chat(
        RpcServerCallContext context, IAsyncEnumerable<Words> requests)
    {
        await foreach (Words request in requests.ConfigureAwait(false))
        {
            yield return new Words { Text = request.Text.ToUpperInvariant() };
        }
    }

    private async Task WaitAsync(RpcServerCallContext context)
    {
        Waiting.TrySetResult();
        try
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            Cancelled.TrySetResult();
            throw;
        }
    }
}
