using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Handles the calls of a method: a message in, a message out.</summary>
/// <param name="context">Who calls what, until when.</param>
/// <param name="request">A DynamicMessage, or the generated type that the method was registered with.</param>
/// <returns>A message of the method's reply type, dynamic or generated.</returns>
public delegate ValueTask<IMessage> RpcHandler(RpcServerCallContext context, IMessage request);
