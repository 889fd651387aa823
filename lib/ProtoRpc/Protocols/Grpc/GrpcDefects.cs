namespace ProtoRpc.Protocols.Grpc;

/// <summary>Makes exceptions of what a peer does wrong in its stream of messages.</summary>
internal static class GrpcDefects
{
    public static RpcException BadFrame(string why, Exception? inner = null) => new(
        RpcStatusCode.Internal, $"The peer violates the framing of gRPC: {why}.", inner)
    {
        ErrorId = RpcErrorIds.BadGrpcFrame,
        MayHaveExecuted = true,
    };

    public static RpcException TooLarge(string what, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The peer {what}; the limit is {maxBytes:N0}. "
        + "Raise RpcLimits.MaxMessageBytes to accept it.")
    {
        ErrorId = RpcErrorIds.MessageTooLarge,
        MayHaveExecuted = true,
    };

    public static RpcException BadHeader(string name, string value, string wanted) => new(
        RpcStatusCode.Internal, $"The peer sent the header '{name}: {value}', which is not {wanted}.")
    {
        ErrorId = RpcErrorIds.BadGrpcHeader,
        MayHaveExecuted = true,
    };
}
