using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc.Mocks;

/// <summary>What a mock answers to one call.</summary>
internal abstract class MockAnswer
{
    /// <summary>Answers a call with one request and one reply.</summary>
    public abstract ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request);

    /// <summary>Answers a call that streams.</summary>
    public abstract ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream);

    /// <summary>Reads the requests to the end, so that they are recorded and their sender learns what is
    /// wrong with them.</summary>
    public static async ValueTask ReadAllAsync(RpcServerStream stream)
    {
        while (await stream.ReadAsync().ConfigureAwait(false) is not null)
        {
        }
    }
}

/// <summary>Messages, and after them a failure or none.</summary>
/// <param name="messages">The messages.</param>
/// <param name="failure">How the call ends after them; null for OK.</param>
internal sealed class GivenAnswer(IReadOnlyList<IMessage> messages, Exception? failure) : MockAnswer
{
    /// <inheritdoc/>
    public override ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request)
    {
        ThrowFailure(context);
        return ValueTask.FromResult(messages[0]);
    }

    /// <inheritdoc/>
    public override async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        // The callers of both streams may wait for a reply before they go on.
        bool isDuplex = context.Method.IsClientStreaming && context.Method.IsServerStreaming;
        if (!isDuplex)
        {
            await ReadAllAsync(stream).ConfigureAwait(false);
        }

        foreach (IMessage message in messages)
        {
            await stream.WriteAsync(message).ConfigureAwait(false);
        }

        ThrowFailure(context);
        if (isDuplex)
        {
            await ReadAllAsync(stream).ConfigureAwait(false);
        }
    }

    private void ThrowFailure(RpcServerCallContext context)
    {
        if (failure is not RpcException rpc)
        {
            if (failure is not null)
            {
                ExceptionDispatchInfo.Throw(failure);
            }

            return;
        }

        foreach ((string name, string value) in rpc.Trailers)
        {
            context.ResponseTrailers.Set(name, value);
        }

        // A new one for each call, for the same failure is thrown by many threads. The author of the test
        // speaks to the caller.
        throw new RpcException(rpc.Code, rpc.Message, rpc.InnerException, isByProtoRpc: false)
        {
            Details = rpc.Details,
            Extensions = rpc.Extensions,
        };
    }
}

/// <summary>A handler.</summary>
/// <param name="method">The method with the handler.</param>
internal sealed class HandlerAnswer(ServerMethod method) : MockAnswer
{
    /// <inheritdoc/>
    public override ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request) =>
        method.Chain(context, ReadAgain(request, context));

    /// <inheritdoc/>
    public override ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream) =>
        method.StreamChain(context, method.IsTyped ? new TypedStream(this, context, stream, method) : stream);

    // The mock reads requests without generated classes, and the handler may know one.
    private IMessage ReadAgain(IMessage request, RpcServerCallContext context) =>
        method.IsTyped ? method.ReadRequest(request.ToByteArray(), context) : request;

    private sealed class TypedStream(
        HandlerAnswer owner, RpcServerCallContext context, RpcServerStream inner, ServerMethod method)
        : RpcServerStream(method)
    {
        internal override async ValueTask<IMessage?> ReceiveAsync() =>
            await inner.ReadAsync().ConfigureAwait(false) is { } request
                ? owner.ReadAgain(request, context)
                : null;

        internal override ValueTask SendAsync(IMessage reply, bool compress) =>
            inner.WriteAsync(reply, compress);
    }
}
