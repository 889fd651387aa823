using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Makes a unary call.</summary>
/// <param name="context">The context that the interceptor received.</param>
/// <param name="request">The request, of the method's request type.</param>
/// <exception cref="RpcException">The call failed.</exception>
public delegate ValueTask<IMessage> RpcClientHandler(RpcClientCallContext context, IMessage request);
