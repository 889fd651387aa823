using Google.Protobuf;

namespace ProtoRpc.Client;

/// <summary>What a client gives a call of streams.</summary>
/// <param name="Method">The method.</param>
/// <param name="Stream">The call below.</param>
/// <param name="ToRequest">Makes and checks a request.</param>
/// <param name="ToReply">The reply as its caller wants it.</param>
/// <param name="Locate">Adds endpoint and method to a failure.</param>
/// <param name="Ended">Told once how the call has ended, and its failure; Cancelled where its caller left it
/// early.</param>
internal sealed record StreamingCallParts<TReply>(
    RpcMethodInfo Method,
    RpcClientStream Stream,
    Func<object, IMessage> ToRequest,
    Func<IMessage?, TReply> ToReply,
    Func<RpcException, RpcException> Locate,
    Action<RpcStatusCode, RpcException?> Ended);
