using Google.Protobuf;
using ProtoRpc.Wire.Grpc;
using CallContextHeader = ProtoRpc.Calls.Headers.RpcCallContext;

namespace ProtoRpc.Calls.Grpc;

/// <summary>The side channel, a header of the request and a trailer of the reply.</summary>
internal static class GrpcCallContext
{
    public const string HeaderName = "rpc-call-context-bin";

    public static string Write(CallContextHeader context) => GrpcBinaryHeader.Encode(context.ToByteArray());

    /// <summary>Null where there is none, or none that can be read:
    /// the call counts more than what goes beside it.</summary>
    public static CallContextHeader? Read(string? header)
    {
        if (string.IsNullOrEmpty(header) || GrpcBinaryHeader.Decode(header) is not [byte[] bytes, ..])
        {
            return null;
        }

        try
        {
            return CallContextHeader.Parser.ParseFrom(bytes);
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }
}
