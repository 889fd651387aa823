using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>Converts the errors of a transport of whole messages to exceptions.</summary>
internal static class MessageFailures
{
    /// <summary>The error for a server that cannot be reached, or that rejects the client.</summary>
    public static Exception NotReached(NativeClient client, MessageWork work)
    {
        RpcEndpoint endpoint = client.Endpoint;
        return work.Failure ?? work.Status switch
        {
            WindowsStatus.ServerUnavailable or WindowsStatus.EndpointNotRegistered =>
                EndpointErrors.NoSuchName(endpoint, "this machine"),
            WindowsStatus.UnknownInterface => BindRefusal.OfContext(
                endpoint, client.InterfaceId, client.InterfaceName,
                ContextResult.Refused(ContextResult.InterfaceNotSupported)),
            WindowsStatus.AccessDenied => new RpcException(
                RpcStatusCode.PermissionDenied,
                $"This account may not connect to '{endpoint}': it is for the account that listens.")
            {
                Endpoint = endpoint,
                NativeStatus = work.Status,
            },
            _ => NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: false),
        };
    }

    /// <summary>The error of a call.</summary>
    /// <returns>Null if the server cannot have received the request, so that it can be sent again.</returns>
    public static Exception? OfCall(NativeClient client, MessageWork work)
    {
        RpcEndpoint endpoint = client.Endpoint;
        if (work.Failure is { } failure)
        {
            return failure;
        }

        return work.IsReplyTooLarge
            ? CallErrors.ReplyTooLarge(endpoint, client.Limits.MaxMessageBytes)
            : work.Status switch
            {
                WindowsStatus.CallFailedDidNotExecute => null,
                WindowsStatus.ServerUnavailable when !work.IsSent => null,
                WindowsStatus.UnknownInterface or WindowsStatus.AccessDenied => NotReached(client, work),
                // ServerUnavailable for a sent request can also be the failure of a handler in another
                // program.
                WindowsStatus.CallFailed or WindowsStatus.ServerUnavailable when work.IsSent
                    => CallErrors.ConnectionLost(
                        endpoint, NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: true)),
                _ => NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: work.IsSent),
            };
    }
}
