using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A channel that retries calls that the server cannot have run: as often as the client's options
/// say, or until the call's time is over if it waits for the server.</summary>
/// <param name="inner">The channel.</param>
/// <param name="endpoint">The endpoint, for errors.</param>
/// <param name="retries">The number of retries; 0 for none.</param>
/// <param name="log">Logs the attempts that are retried; null for none.</param>
internal sealed class RetryingChannel(
    IRpcChannel inner, RpcEndpoint endpoint, int retries, ClientLog? log = null) : IRpcChannel
{
    public RpcCallContext Context
    {
        get => inner.Context;
        set => inner.Context = value;
    }

    public void Connect(CancellationToken cancellation) =>
        Connecting(cancellation).Run(() =>
        {
            inner.Connect(cancellation);
            return true;
        });

    public Task ConnectAsync(CancellationToken cancellation) =>
        Connecting(cancellation).RunAsync(async () =>
        {
            await inner.ConnectAsync(cancellation).ConfigureAwait(false);
            return true;
        });

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call))
        {
            return inner.Invoke(call, request, read, cancellation);
        }

        using KeptRequest kept = new();
        CallSpec repeated = call with { Kept = kept };
        return Retries(call, cancellation).Run(() => inner.Invoke(repeated, request, read, cancellation));
    }

    public Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        return IsRepeated(call)
            ? RepeatAsync()
            : inner.InvokeAsync(call, request, read, cancellation);

        async Task<TReply> RepeatAsync()
        {
            using KeptRequest kept = new();
            CallSpec repeated = call with { Kept = kept };
            return await Retries(call, cancellation)
                .RunAsync(() => inner.InvokeAsync(repeated, request, read, cancellation))
                .ConfigureAwait(false);
        }
    }

    // The time of an upload applies to each part. The upload is only retried if its stream can seek back.
    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || !request.CanSeek)
        {
            return inner.Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Retries(call, cancellation).Run(() =>
        {
            request.Position = start;
            return inner.Upload(call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    public Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || !request.CanSeek)
        {
            return inner.UploadAsync(call, request, read, cancellation);
        }

        long start = request.Position;
        return Retries(call, cancellation).RunAsync(() =>
        {
            request.Position = start;
            return inner.UploadAsync(call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    // A stream of requests is not retried, because the messages that were sent are not kept.
    public IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || call.Method.IsClientStreaming)
        {
            return inner.Open(call, cancellation);
        }

        CallRetries retrying = Retries(call, cancellation);
        KeptRequest kept = new();
        CallSpec repeated = call with { Kept = kept };
        return new RepeatedStream(
            inner.Open(repeated, cancellation),
            async failure =>
            {
                await retrying.WaitAsync(failure).ConfigureAwait(false);
                return inner.Open(repeated, cancellation);
            },
            kept);
    }

    public RpcSchema FetchSchema(CancellationToken cancellation) => inner.FetchSchema(cancellation);

    public Task<RpcSchema> FetchSchemaAsync(CancellationToken cancellation) =>
        inner.FetchSchemaAsync(cancellation);

    public RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        inner.FetchSchema(services, cancellation);

    public Task<RpcSchema?> FetchSchemaAsync(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        inner.FetchSchemaAsync(services, cancellation);

    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation) =>
        inner.Ping(ping, cancellation);

    public Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation) =>
        inner.PingAsync(ping, cancellation);

    public void Dispose() => inner.Dispose();

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    private bool IsRepeated(CallSpec call) => retries > 0 || call.Options is { WaitForReady: true };

    private CallRetries Retries(CallSpec call, CancellationToken cancellation) =>
        new(endpoint, retries, call.Options is { WaitForReady: true }, call.Clock.For(cancellation),
            call.Options?.Response)
        {
            Log = log,
            Method = call.Method.FullName,
        };

    private CallRetries Connecting(CancellationToken cancellation) =>
        new(endpoint, retries, waits: false, CallClock.Start(Timeout.InfiniteTimeSpan, cancellation))
        {
            Log = log,
        };
}
