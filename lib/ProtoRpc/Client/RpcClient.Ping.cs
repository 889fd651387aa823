using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

// Pings the server.
public sealed partial class RpcClient
{
    /// <summary>Pings the server through the client's service, optionally with a request for its ping
    /// handlers. Without a schema, this only checks whether a server of the native protocol
    /// answers.</summary>
    /// <param name="ping">The options of the ping; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the ping.</param>
    /// <exception cref="RpcException">The server did not answer, or its ping handlers failed. NotFound: the
    /// server does not serve the service of the ping's or the client's options.</exception>
    public RpcPingResult Ping(RpcPingOptions? ping = null, CancellationToken cancellationToken = default)
    {
        PingSpec spec = SpecOf(ping, cancellationToken);
        try
        {
            return Answered(Cancellable(() => _channel.Ping(spec, cancellationToken), cancellationToken));
        }
        catch (RpcException e)
        {
            throw Locate(e);
        }
    }

    /// <inheritdoc cref="Ping"/>
    public async Task<RpcPingResult> PingAsync(
        RpcPingOptions? ping = null, CancellationToken cancellationToken = default)
    {
        PingSpec spec = SpecOf(ping, cancellationToken);
        try
        {
            return Answered(await CancellableAsync(
                () => _channel.PingAsync(spec, cancellationToken), cancellationToken).ConfigureAwait(false));
        }
        catch (RpcException e)
        {
            throw Locate(e);
        }
    }

    private PingSpec SpecOf(RpcPingOptions? ping, CancellationToken cancellation)
    {
        ping ??= new RpcPingOptions();
        RequireOpen(cancellation);
        RpcMethodInfo method = PingProtocol.InfoIn(_schema);
        if (ping.Request is { } request && request.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A ping sends a {method.RequestType.FullName}, not a {request.Descriptor.FullName}.");
        }

        try
        {
            string? service = ping.Service;
            RpcServiceInfo? through = service is null
                ? Service ?? _schema?.Services.FirstOrDefault()
                : _schema?.GetService(service);
            service ??= _options.Service is { } name ? Service?.FullName ?? name : null;
            return new PingSpec(
                through,
                through is null ? service : service is null ? null : through.FullName,
                ping.Timeout ?? _limits.CallTimeout)
            {
                Request = ping.Request,
            };
        }
        catch (RpcException e)
        {
            throw Locate(e);
        }
    }

    private RpcPingResult Answered(RpcPingResult result) => result.Received is { } received
        ? result with
        {
            Reply = ReplyParser.Parse(
                PingProtocol.InfoIn(_schema), new ReplyBody(received.ToByteArray()), _limits),
        }
        : result;
}
