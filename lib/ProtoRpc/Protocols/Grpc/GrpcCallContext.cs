using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The side channel, a header of the request and a trailer of the reply.</summary>
internal static class GrpcCallContext
{
    public const string HeaderName = "rpc-call-context-bin";

    public static string Write(RpcCallContext context) => GrpcBinaryHeader.Encode(context.ToByteArray());

    /// <summary>The call context of a reply. Null if it is missing or cannot be read:
    /// a damaged context does not fail the call.</summary>
    public static RpcCallContext? Read(string? header)
    {
        if (string.IsNullOrEmpty(header) || GrpcBinaryHeader.Decode(header) is not [byte[] bytes, ..])
        {
            return null;
        }

        try
        {
            return RpcCallContext.Parser.ParseFrom(bytes);
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }
}
