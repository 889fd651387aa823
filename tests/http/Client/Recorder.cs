using System.Collections.Concurrent;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Shop;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Writes down what it sees of calls, and sends its name along.</summary>
internal sealed class Recorder(string name) : IRpcClientInterceptor
{
    private readonly ConcurrentQueue<string> _seen = [];

    public IEnumerable<string> Seen => _seen;

    public async ValueTask<IMessage> InvokeAsync(
        RpcClientCallContext context, IMessage request, RpcClientHandler next)
    {
        context.Headers.Add("x-chain", name);
        string line = $"{context.Method.FullName} {IdOf(request)} -> ";
        try
        {
            IMessage reply = await next(context, request);
            _seen.Enqueue(line + (context.ReplyInfo.Trailers.GetText("x-last") ?? IdOf(reply)));
            return reply;
        }
        catch (RpcException e)
        {
            _seen.Enqueue($"{line}{e.Code}");
            throw;
        }
    }

    public async ValueTask<RpcClientStream> OpenAsync(
        RpcClientCallContext context, RpcClientStreamHandler next)
    {
        context.Headers.Add("x-chain", name);
        _seen.Enqueue($"open {context.Method.FullName}");
        return new Stream(await next(context), _seen);
    }

    private static string IdOf(IMessage message) => message switch
    {
        PlaceRequest place => place.Order.Id,
        PlaceReply reply => reply.Id,
        WatchRequest watch => watch.Id,
        OrderEvent e => e.Text,
        DynamicMessage dynamic => IdOf(
            OrdersReflection.Descriptor.FindTypeByName<MessageDescriptor>(dynamic.Type.Name).Parser
                .ParseFrom(dynamic.ToByteArray())),
        _ => throw new NotSupportedException(message.Descriptor.FullName),
    };

    private sealed class Stream(RpcClientStream inner, ConcurrentQueue<string> seen) : RpcClientStream
    {
        public override IMessage? Current => inner.Current;

        public override ValueTask<bool> SendAsync(
            IMessage request, bool compress, CancellationToken cancellationToken)
        {
            seen.Enqueue($"send {IdOf(request)}");
            return inner.SendAsync(request, compress, cancellationToken);
        }

        public override ValueTask CompleteAsync(CancellationToken cancellationToken) =>
            inner.CompleteAsync(cancellationToken);

        public override async ValueTask<bool> ReadAsync(CancellationToken cancellationToken)
        {
            try
            {
                bool any = await inner.ReadAsync(cancellationToken);
                seen.Enqueue(any ? $"read {IdOf(inner.Current!)}" : "end");
                return any;
            }
            catch (RpcException e)
            {
                seen.Enqueue($"{e.Code}");
                throw;
            }
        }

        public override ValueTask DisposeAsync() => inner.DisposeAsync();
    }
}
