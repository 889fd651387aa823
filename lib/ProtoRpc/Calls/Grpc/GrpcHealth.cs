using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Calls.Grpc.Proto;

namespace ProtoRpc.Calls.Grpc;

/// <summary>Asks a server's health service, where it has one.</summary>
internal static class GrpcHealth
{
    private const string Check = "grpc.health.v1.Health/Check";

    /// <summary>Asks for the health of the whole server.
    /// One that has no health service has answered too.</summary>
    public static RpcPingResult Ping(GrpcChannel channel, TimeSpan timeout, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        string health = "";
        try
        {
            HealthCheckResponse reply = channel.CallAsync(
                Check, timeout, null, new HealthCheckRequest(), Parse, cancellation)
                .GetAwaiter().GetResult();
            health = reply.Status.ToString();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Unimplemented && e.ErrorId != "NotGrpc")
        {
        }

        return new RpcPingResult(
            channel.Endpoint, Stopwatch.GetElapsedTime(start), "", "", Array.Empty<string>(), null)
        {
            Health = health,
        };
    }

    private static HealthCheckResponse Parse(ReadOnlySpan<byte> body)
    {
        try
        {
            return HealthCheckResponse.Parser.ParseFrom(body);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply to {Check} cannot be read: {e.Message}", e)
            {
                ErrorId = "BadReply",
            };
        }
    }
}
