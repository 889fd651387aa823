using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client.Native;

/// <summary>Converts the failure in a response header to the client's exception.</summary>
internal static class NativeFailures
{
    public static RpcException Of(
        RpcResponseHeader header, string method, RpcMetadata trailers, RpcExceptionTypes types,
        DynamicMessage? extensions)
    {
        RpcExceptionInfo info = header.Exception ?? new RpcExceptionInfo();
        RpcRemoteException remote = ExceptionInfoCodec.Decode(info);
        RpcStatusCode code = header.HasExtension(ProtorpcTransportExtensions.StatusCode)
            ? (RpcStatusCode)header.GetExtension(ProtorpcTransportExtensions.StatusCode)
            : ExceptionInfoCodec.StatusOf(info);
        if (!Enum.IsDefined(code) || code == RpcStatusCode.OK)
        {
            code = RpcStatusCode.Unknown;
        }

        string message = remote.Message.Length > 0
            ? remote.Message
            : $"{method} failed on the server"
                + (remote.TypeName.Length > 0 ? $" with {remote.TypeName}" : "")
                + "; the server sent no message.";
        bool isBusy = header.HasExtension(ProtorpcTransportExtensions.RetryAfterMs);
        ByteString details = header.GetExtension(ProtorpcTransportExtensions.StatusDetails);
        return new RpcException(code, message, RemoteExceptionFactory.Create(remote, types))
        {
            IsAnswer = true,
            Remote = remote,
            CorrelationId =
                CorrelationIds.Accept(header.GetExtension(ProtorpcTransportExtensions.CorrelationId)),
            MayHaveExecuted = !isBusy,
            RetryAfter = isBusy
                ? TimeSpan.FromMilliseconds(header.GetExtension(ProtorpcTransportExtensions.RetryAfterMs))
                : null,
            Details = GrpcStatusDetails.Read(details.Span),
            Trailers = trailers.ToText(),
            Extensions = extensions,
        };
    }
}
