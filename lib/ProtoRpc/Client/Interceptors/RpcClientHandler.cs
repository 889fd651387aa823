using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Makes a call with one request and one reply.</summary>
/// <param name="context">The context that the interceptor was given.</param>
/// <param name="request">The request, of the method's request type.</param>
/// <exception cref="RpcException">The call failed.</exception>
public delegate ValueTask<IMessage> RpcClientHandler(RpcClientCallContext context, IMessage request);
