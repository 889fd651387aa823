namespace ProtoRpc.Interop;

/// <summary>Somebody's server of the interoperability test service.</summary>
internal interface IInteropServer : IDisposable
{
    /// <summary>Connects our client to it.</summary>
    RpcClient Connect(RpcClientOptions? options = null);

    /// <summary>Waits until the server says that a stream began, or ended on its side.</summary>
    Task WaitForAsync(string what);
}
