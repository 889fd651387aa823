using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

// Forwards calls for a gateway. Messages pass unchanged, unless the client has interceptors.
public sealed partial class RpcClient
{
    /// <summary>A unique key for each client.</summary>
    internal Guid Key { get; } = Guid.NewGuid();

    /// <summary>The maximum size of a message.</summary>
    internal int MaxMessageBytes => _limits.MaxMessageBytes;

    /// <summary>Whether interceptors see the calls and parse their messages.</summary>
    internal bool IsSeen => _interceptors is not null;

    /// <summary>Forwards a call, and blocks until its reply.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">The request.</param>
    /// <param name="read">Converts the bytes of the reply, unless an interceptor parses it.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="cancellation">Cancels the call.</param>
    internal IMessage Forward(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation) =>
        Call(method, Passed(request), IsSeen ? DynamicReader(method) : read, options, cancellation);

    /// <summary>Forwards a call.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, IMessage request, RpcCallOptions options, CancellationToken cancellation) =>
        CallAsync(method, Passed(request), ForwardReader(method), options, cancellation);

    /// <summary>Forwards a call whose request is read from a stream.</summary>
    internal Task<IMessage> ForwardAsync(
        RpcMethodInfo method, Stream request, RpcCallOptions options, CancellationToken cancellation) =>
        UploadAsync(method, request, ForwardReader(method), options, cancellation);

    /// <summary>Begins to forward a call of any kind of method.</summary>
    internal async Task<RpcStreamingCall<object, IMessage>> OpenForwardAsync(
        RpcMethodInfo method, RpcCallOptions options, CancellationToken cancellation) =>
        new(await BeginAsync(method, ForwardReader(method), options, cancellation).ConfigureAwait(false));

    /// <summary>The request as this client forwards it.</summary>
    internal IMessage Passed(IMessage request) =>
        !IsSeen || request is not OpaqueMessage opaque
            ? request
            : DynamicMessage.Parse(opaque.Type, opaque.Bytes.Span, _limits.MaxMessageElements);

    /// <summary>The binary form of a reply, in separate memory.</summary>
    internal OpaqueMessage Owned(RpcMethodInfo method, ReplyBody body) =>
        new(method.ReplyType, ToBinary(method, body.Format is null ? body.Copy() : body));

    /// <summary>The binary form of a reply.</summary>
    /// <returns>Valid as long as the body.</returns>
    internal ReadOnlyMemory<byte> ToBinary(RpcMethodInfo method, ReplyBody body) =>
        ReplyParser.ToBinary(method, body, _limits);

    private ReplyReader<IMessage> ForwardReader(RpcMethodInfo method) =>
        IsSeen ? DynamicReader(method) : body => Owned(method, body);
}
