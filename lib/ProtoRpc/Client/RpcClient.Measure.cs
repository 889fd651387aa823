using Google.Protobuf;
using ProtoRpc.Client;

namespace ProtoRpc;

// Calls of a load test. Requests are encoded in advance, and only the size of replies is kept.
public sealed partial class RpcClient
{
    /// <summary>Creates a reader that only measures replies, or also decodes them to check them. Interceptors
    /// always get decoded replies.</summary>
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

    /// <summary>Calls a method, and blocks until its reply.</summary>
    internal IMessage Measure(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        Call(method, Passed(request), read, options, cancellation);

    /// <summary>Calls a method.</summary>
    internal Task<IMessage> MeasureAsync(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        CallAsync(method, Passed(request), read, options, cancellation);

    /// <summary>Makes a streaming call of any kind of method.</summary>
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
