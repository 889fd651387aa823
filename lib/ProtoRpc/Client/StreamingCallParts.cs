using Google.Protobuf;

namespace ProtoRpc.Client;

/// <summary>The parts of a streaming call.</summary>
/// <param name="Method">The method.</param>
/// <param name="Stream">The transport's call.</param>
/// <param name="ToRequest">Converts and checks a request.</param>
/// <param name="ToReply">Converts a reply to the type that the caller requires.</param>
/// <param name="Locate">Adds the endpoint and method to a failure.</param>
/// <param name="Ended">Called once with the status of the call and its failure; the status is Cancelled if
/// the caller leaves early.</param>
internal sealed record StreamingCallParts<TReply>(
    RpcMethodInfo Method,
    RpcClientStream Stream,
    Func<object, IMessage> ToRequest,
    Func<IMessage?, TReply> ToReply,
    Func<RpcException, RpcException> Locate,
    Action<RpcStatusCode, RpcException?> Ended);
