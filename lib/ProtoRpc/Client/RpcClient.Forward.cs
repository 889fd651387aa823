using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

// Calls of a gateway: messages go through as they are, unless an interceptor of the client looks at them.
public sealed partial class RpcClient
{
    /// <summary>Another for each client.</summary>
    internal Guid Key { get; } = Guid.NewGuid();

    /// <summary>The largest message.</summary>
    internal int MaxMessageBytes => _limits.MaxMessageBytes;

    /// <summary>Whether interceptors see the calls, and read their messages.</summary>
    internal bool IsSeen => _interceptors is not null;

    /// <summary>Passes a call on, and holds the thread until its reply is there.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">The request.</param>
    /// <param name="read">Makes the reply of its bytes, unless an interceptor reads it.</param>
    /// <param name="options">How the call is made.</param>
    /// <param name="cancellation">Cancels it.</param>
    internal IMessage Forward(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        Call(method, Passed(request), IsSeen ? DynamicReader(method) : read, options, cancellation);

    /// <summary>Passes a call on.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, IMessage request, RpcCallOptions options, CancellationToken cancellation) =>
        CallAsync(method, Passed(request), ForwardReader(method), options, cancellation);

    /// <summary>Passes a call on whose request comes from a stream.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, Stream request, RpcCallOptions options, CancellationToken cancellation) =>
        UploadAsync(method, request, ForwardReader(method), options, cancellation);

    /// <summary>Begins to pass on a call of any kind of method.</summary>
    internal async Task<RpcStreamingCall<object, IMessage>> OpenForwardAsync(
        RpcMethodInfo method, RpcCallOptions options, CancellationToken cancellation) =>
        new(await BeginAsync(method, ForwardReader(method), options, cancellation).ConfigureAwait(false));

    /// <summary>A request as this client sends it on.</summary>
    internal IMessage Passed(IMessage request) =>
        !IsSeen || request is not OpaqueMessage opaque
            ? request
            : DynamicMessage.Parse(opaque.Type, opaque.Bytes.Span, _limits.MaxMessageElements);

    /// <summary>A reply in the binary form, in its own memory.</summary>
    internal OpaqueMessage Owned(RpcMethodInfo method, ReplyBody body) =>
        new(method.ReplyType, ToBinary(method, body.Format is null ? body.Copy() : body));

    /// <summary>A reply in the binary form.</summary>
    /// <returns>Valid for as long as the body.</returns>
    internal ReadOnlyMemory<byte> ToBinary(RpcMethodInfo method, ReplyBody body) =>
        ReplyParser.ToBinary(method, body, _limits);

    private ReplyReader<IMessage> ForwardReader(RpcMethodInfo method) =>
        IsSeen ? DynamicReader(method) : body => Owned(method, body);
}
