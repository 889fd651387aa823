using Google.Protobuf;
using ProtoRpc.Client;

namespace ProtoRpc;

// Calls of a load test: requests are encoded before, and of replies only the size is kept.
public sealed partial class RpcClient
{
    /// <summary>Reads replies of a method for their size, or decodes them to see that they are some.
    /// Interceptors get decoded ones in any case.</summary>
    internal ReplyReader<IMessage> MeasuringReader(RpcMethodInfo method, bool decodes)
    {
        RpcMessageInfo type = method.ReplyType;
        ReplyReader<DynamicMessage> decode = DynamicReader(method);
        return _interceptors is not null ? decode : body =>
        {
            if (decodes)
            {
                decode(body);
            }

            return new MeasuredReply(type, (int)body.Bytes.Length);
        };
    }

    /// <summary>Calls a method, and holds the thread until its reply is there.</summary>
    internal IMessage Measure(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        Call(method, Passed(request), read, options, cancellation);

    /// <summary>Calls a method.</summary>
    internal Task<IMessage> MeasureAsync(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        CallAsync(method, Passed(request), read, options, cancellation);

    /// <summary>Calls a method of any kind whose messages go and come one at a time.</summary>
    internal IAsyncEnumerable<IMessage> MeasureStream(
        RpcMethodInfo method, IAsyncEnumerable<IMessage> requests, ReplyReader<IMessage> read,
        RpcCallOptions options, CancellationToken cancellation) =>
        StreamAsync(method, Passed(requests), read, options, cancellation);

    private async IAsyncEnumerable<object> Passed(IAsyncEnumerable<IMessage> requests)
    {
        await foreach (IMessage request in requests.ConfigureAwait(false))
        {
            yield return Passed(request);
        }
    }
}
