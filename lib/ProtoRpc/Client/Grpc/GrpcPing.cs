using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Grpc;

/// <summary>Pings a gRPC server. The health service returns its health; ProtoRpc's ping or the reflection
/// service returns its services. A server without these services is reachable all the same.</summary>
internal sealed class GrpcPing(GrpcChannel channel, PingSpec ping, CancellationToken cancellation)
{
    private const string CheckPath = "grpc.health.v1.Health/Check";

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly CallClock _clock = CallClock.Start(ping.Timeout, cancellation);

    /// <exception cref="RpcException">The server did not answer, or does not serve the service.</exception>
    public async Task<RpcPingResult> RunAsync()
    {
        (string health, bool isUnknown) = await CheckAsync(ping.Service ?? "").ConfigureAwait(false);
        TimeSpan latency = Stopwatch.GetElapsedTime(_start);
        RpcPingResponse? reply = ping.IsAsking
            ? await AskAsync().ConfigureAwait(false)
            : await TryAsync(AskAsync).ConfigureAwait(false);
        ServerFacts? facts = PingProtocol.FactsOf(reply);
        IReadOnlyList<string>? listed = facts is null
            ? await TryAsync(() => new GrpcReflection(channel).ListAsync(_clock))
                .ConfigureAwait(false)
            : [.. facts.Services];
        string[]? services = listed is null ? null : PingResults.Names(listed);
        if (ping.Service is { } service && (isUnknown || health.Length == 0))
        {
            // Many servers only report the health of the whole server, not of single services.
            if (services is null && _clock.IsOver)
            {
                throw _clock.TimedOut(channel.Endpoint, sent: false);
            }

            bool isServed = services?.Contains(service) ?? !isUnknown;
            if (!isServed)
            {
                throw PingResults.NotServed(channel.Endpoint, service, services ?? []);
            }

            health = isUnknown ? (await CheckAsync("").ConfigureAwait(false)).Health : health;
        }

        return PingResults.ResultOf(channel.Endpoint, latency, reply) with
        {
            Services = services ?? [],
            Health = health,
        };
    }

    private Task<RpcPingResponse> AskAsync() => channel.CallAsync(
        PingProtocol.Info.FullName, _clock, null, ping.Message, PingResults.Read);

    // The health is empty without a health service. For an unknown service, the status is NotFound or
    // SERVICE_UNKNOWN.
    private async Task<(string Health, bool IsUnknown)> CheckAsync(string service)
    {
        try
        {
            HealthCheckResponse reply = await channel.CallAsync(
                CheckPath, _clock, null, new HealthCheckRequest { Service = service }, Parse)
                .ConfigureAwait(false);
            return (
                reply.Status.ToString(),
                reply.Status == HealthCheckResponse.Types.ServingStatus.ServiceUnknown);
        }
        catch (RpcException e)
            when (e.Code == RpcStatusCode.Unimplemented && e.ErrorId != RpcErrorIds.NotGrpc)
        {
            return ("", false);
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound && e.MayHaveExecuted)
        {
            return ("", true);
        }
    }

    // Optional services of a server. The server is reachable even if they fail.
    private async Task<TResult?> TryAsync<TResult>(Func<Task<TResult>> ask)
        where TResult : class?
    {
        try
        {
            return await ask().ConfigureAwait(false);
        }
        catch (RpcException) when (!_clock.Caller.IsCancellationRequested)
        {
            return null;
        }
    }

    private static HealthCheckResponse Parse(ReplyBody body)
    {
        try
        {
            return HealthCheckResponse.Parser.ParseFrom(body.Bytes);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply to {CheckPath} cannot be read: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.BadReply,
            };
        }
    }
}
