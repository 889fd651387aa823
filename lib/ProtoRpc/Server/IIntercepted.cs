namespace ProtoRpc.Server;

/// <summary>An object whose interceptors can be replaced while the server listens.</summary>
internal interface IIntercepted
{
    /// <summary>Replaces the interceptors.</summary>
    void Intercept(IReadOnlyList<IRpcInterceptor> interceptors);
}
