using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>A bound gRPC endpoint, which tells those who watch its health before it stops.</summary>
internal sealed class GrpcEndpoint(IServedEndpoint kestrel, HealthService? health) : IServedEndpoint
{
    public RpcEndpoint Endpoint => kestrel.Endpoint;

    public int Connections => kestrel.Connections;

    public long Accepted => kestrel.Accepted;

    public Task StopAsync(TimeSpan drain)
    {
        health?.Stop();
        return kestrel.StopAsync(drain);
    }
}
