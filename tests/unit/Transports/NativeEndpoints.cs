namespace ProtoRpc.Tests.Transports;

/// <summary>New endpoints that no other test uses.</summary>
internal static class NativeEndpoints
{
    public static readonly TheoryData<string> Kinds = ["tcp", "local", "pipe"];

    public static RpcEndpoint Fresh(string kind) => kind switch
    {
        "tcp" => RpcEndpoint.Tcp("127.0.0.1", 0),
        "local" => RpcEndpoint.Local("Test-" + Guid.NewGuid().ToString("N")),
        _ => RpcEndpoint.NamedPipe("Test-" + Guid.NewGuid().ToString("N")),
    };
}
