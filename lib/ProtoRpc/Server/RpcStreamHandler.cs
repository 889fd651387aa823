namespace ProtoRpc;

/// <summary>Handles the calls of a method of any kind: requests as they come,
/// replies as they are written.</summary>
/// <param name="context">Who calls what, until when.</param>
/// <param name="stream">The messages both ways. The call ends when the handler does.</param>
public delegate ValueTask RpcStreamHandler(RpcServerCallContext context, RpcServerStream stream);
