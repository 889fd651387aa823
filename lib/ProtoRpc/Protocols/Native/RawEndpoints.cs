namespace ProtoRpc.Protocols.Native;

/// <summary>Checks that an endpoint supports raw calls.</summary>
internal static class RawEndpoints
{
    /// <exception cref="RpcException">Unimplemented: HTTP and gRPC have no raw layer.</exception>
    public static void RequireNative(RpcEndpoint endpoint)
    {
        if (!endpoint.IsNative)
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented,
                "Raw calls work on TCP, named pipe and local endpoints, "
                + $"not on {endpoint.Transport} ('{endpoint}').")
            {
                Endpoint = endpoint,
            };
        }
    }
}
