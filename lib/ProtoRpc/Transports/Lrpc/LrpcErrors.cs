using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>Makes exceptions of what Windows' RPC runtime reports about endpoints and interfaces.</summary>
internal static class LrpcErrors
{
    /// <summary>The endpoint cannot be opened, or the interface cannot be registered.</summary>
    public static RpcException CannotListen(RpcEndpoint endpoint, uint status) => status switch
    {
        WindowsStatus.DuplicateEndpoint => EndpointErrors.InUse(endpoint),
        WindowsStatus.AccessDenied => new RpcException(
            RpcStatusCode.PermissionDenied, $"Cannot listen on '{endpoint}': this account may not.")
        {
            Endpoint = endpoint,
            NativeStatus = status,
        },
        _ => Failed($"Cannot listen on '{endpoint}'", endpoint, status),
    };

    /// <summary>The runtime does not accept the endpoint.</summary>
    public static RpcException CannotBind(RpcEndpoint endpoint, uint status) =>
        Failed($"Cannot connect to '{endpoint}'", endpoint, status);

    private static RpcException Failed(string what, RpcEndpoint endpoint, uint status) =>
        status is WindowsStatus.InvalidEndpointFormat or WindowsStatus.StringTooLong
            ? new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{what}: the RPC runtime of Windows does not accept the name (status {status}). Use a "
                + "shorter one of letters and digits.")
            {
                ErrorId = RpcErrorIds.InvalidEndpoint,
                Endpoint = endpoint,
                NativeStatus = status,
            }
            : new RpcException(
                RpcStatusCode.Unavailable,
                $"{what}: the RPC runtime of Windows returned status {status} "
                + $"({RpcStatusTable.OfNativeStatus(status).Meaning}).")
            {
                Endpoint = endpoint,
                NativeStatus = status,
            };
}
