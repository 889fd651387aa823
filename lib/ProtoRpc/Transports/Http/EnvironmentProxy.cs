using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>The proxy that the environment names: what .NET finds (HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or
/// the settings of Windows), for gRPC grpc_proxy before that, and NO_PROXY as curl and gRPC read it, with
/// domains and networks.</summary>
/// <param name="isGrpc">Whether it is for gRPC.</param>
/// <param name="system">What .NET finds.</param>
/// <param name="variable">Reads a variable.</param>
internal sealed class EnvironmentProxy(bool isGrpc, IWebProxy system, Func<string, string?> variable)
    : IWebProxy
{
    private readonly WebProxy? _ofGrpc = isGrpc ? ProxyAddress.Read(Find(variable, "grpc_proxy")) : null;

    private readonly NoProxyList _exceptions =
        new((isGrpc ? Find(variable, "no_grpc_proxy") : null) ?? Find(variable, "no_proxy"));

    /// <summary>That of this process.</summary>
    public static EnvironmentProxy Of(bool isGrpc) =>
        new(isGrpc, HttpClient.DefaultProxy, Environment.GetEnvironmentVariable);

    public ICredentials? Credentials
    {
        get => (_ofGrpc ?? system).Credentials;
        set => throw new NotSupportedException();
    }

    public Uri? GetProxy(Uri destination) =>
        IsBypassed(destination) ? null : (_ofGrpc ?? system).GetProxy(destination);

    // A proxy cannot reach this machine's loopback.
    public bool IsBypassed(Uri host) => HttpTransport.IsLoopback(host.IdnHost)
        || _exceptions.Has(host.IdnHost, host.Port)
        || (_ofGrpc ?? system).IsBypassed(host);

    private static string? Find(Func<string, string?> variable, string name) =>
        variable(name) is { Length: > 0 } lower ? lower
        : variable(name.ToUpperInvariant()) is { Length: > 0 } upper ? upper
        : null;
}
