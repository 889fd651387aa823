using System.Net.Security;

namespace ProtoRpc.Server.Native;

/// <summary>A bound native endpoint with the interfaces that one server has on it.</summary>
internal sealed class NativeEndpoint(INativeListener listener, IReadOnlyList<Guid> interfaces)
    : IServedEndpoint
{
    public RpcEndpoint Endpoint => listener.Endpoint;

    public int Connections => listener.ConnectionCount;

    public long Accepted => listener.AcceptedCount;

    public Task StopAsync(TimeSpan drain) =>
        Task.WhenAll(interfaces.Select(id => listener.StopServingAsync(id, drain).AsTask()));

    public void Show(SslStreamCertificateContext certificate) => listener.Show(certificate);
}
