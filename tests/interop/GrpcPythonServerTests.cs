namespace ProtoRpc.Interop;

/// <summary>The cases against Python's server.</summary>
public sealed class GrpcPythonServerTests : GrpcInteropTests
{
    private protected override async Task<IInteropServer> StartAsync() => await GrpcServer.StartAsync();
}
