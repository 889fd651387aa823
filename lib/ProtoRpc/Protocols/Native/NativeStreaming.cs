namespace ProtoRpc.Protocols.Native;

/// <summary>What the native protocol says of methods that stream, on both sides.</summary>
internal static class NativeStreaming
{
    public static RpcException Refusal(RpcMethodInfo method, RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"{method.FullName} streams, but {endpoint} carries only one message each way. "
        + $"Use a {EndpointKinds.SchemesWith(EndpointFeatures.RequestStreams)} endpoint; "
        + "http:// endpoints support reply streams only.");
}
