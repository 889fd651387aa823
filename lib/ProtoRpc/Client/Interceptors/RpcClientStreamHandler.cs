namespace ProtoRpc;

/// <summary>Begins a call whose messages go and come one at a time.</summary>
/// <param name="context">The context that the interceptor was given.</param>
/// <exception cref="RpcException">The call cannot be begun.</exception>
public delegate ValueTask<RpcClientStream> RpcClientStreamHandler(RpcClientCallContext context);
