namespace ProtoRpc;

/// <summary>Begins a streaming call.</summary>
/// <param name="context">The context that the interceptor received.</param>
/// <exception cref="RpcException">The call cannot begin.</exception>
public delegate ValueTask<RpcClientStream> RpcClientStreamHandler(RpcClientCallContext context);
