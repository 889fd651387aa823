using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Handles the calls of a unary method.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">A DynamicMessage, or the generated type that the method was registered with.</param>
/// <returns>A message of the method's reply type, dynamic or generated.</returns>
public delegate ValueTask<IMessage> RpcHandler(RpcServerCallContext context, IMessage request);
