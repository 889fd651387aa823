namespace ProtoRpc.Server;

/// <summary>What has interceptors around it, which may be replaced while the server listens.</summary>
internal interface IIntercepted
{
    /// <summary>Puts interceptors around it, in the place of those that it had.</summary>
    void Intercept(IReadOnlyList<IRpcInterceptor> interceptors);
}
