using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Schema;
using ProtoRpc.Transports;

namespace ProtoRpc;

// What the server is asked of itself.
public sealed partial class RpcClient
{
    /// <summary>Pings the server through the client's service.
    /// Without a schema only that a server of the native protocol answers there is found out.</summary>
    /// <exception cref="RpcException">The server did not answer; NotFound when it does not serve the service
    /// of the client's options.</exception>
    public RpcPingResult Ping(TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        Ping(service: null, timeout, cancellation);

    /// <summary>Pings the server, and asks it for a service.</summary>
    /// <param name="service">The full name of the service, or the bare one where the schema has it;
    /// null for that of the client's options.</param>
    /// <param name="timeout">Null for the limit's call timeout.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">The server did not answer; NotFound when it does not serve the
    /// service.</exception>
    public RpcPingResult Ping(
        string? service, TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        Ping(new RpcPingOptions { Service = service, Timeout = timeout }, cancellation);

    /// <summary>Pings the server, and may ask its ping handlers something.</summary>
    /// <param name="ping">What is asked.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">The server did not answer; NotFound when it does not serve the service;
    /// what its ping handlers fail with.</exception>
    public RpcPingResult Ping(RpcPingOptions ping, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(ping);
        RequireOpen(cancellation);
        RpcMethodInfo method = PingProtocol.InfoIn(_schema);
        if (ping.Request is { } request && request.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A ping asks by a {method.RequestType.FullName}, not by a {request.Descriptor.FullName}.");
        }

        try
        {
            string? service = ping.Service;
            RpcServiceInfo? through = service is null
                ? Service ?? _schema?.Services.FirstOrDefault()
                : _schema?.GetService(service);
            service ??= _options.Service is { } name ? Service?.FullName ?? name : null;
            PingSpec spec = new(
                through,
                through is null ? service : service is null ? null : through.FullName,
                ping.Timeout ?? _limits.CallTimeout)
            {
                Request = ping.Request,
            };
            RpcPingResult result = Cancellable(() => _channel.Ping(spec, cancellation), cancellation);
            return result.Received is { } received
                ? result with { Reply = ReplyParser.Parse(method, received.ToByteArray(), _limits) }
                : result;
        }
        catch (RpcException e)
        {
            e.Endpoint ??= Endpoint;
            throw;
        }
    }

    /// <summary>Compares the client's schema with what the server says of its own: a gRPC server by
    /// reflection, an HTTP listener of ours by its files.</summary>
    /// <param name="service">The service to compare;
    /// null for that of the client's options, or for all.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <returns>The differences that make calls fail or lose fields; null where the server does not tell its
    /// schema.</returns>
    public IReadOnlyList<string>? CompareSchema(
        string? service = null, CancellationToken cancellation = default)
    {
        RequireOpen(cancellation);
        RpcSchema ours = RequireSchema();
        IReadOnlyList<RpcServiceInfo> services = service is null
            ? Service is { } only ? [only] : ours.Services
            : [ours.GetService(service)];
        try
        {
            return Cancellable(() => _channel.FetchSchema(services, cancellation), cancellation) is { } theirs
                ? SchemaComparison.Compare(services, theirs)
                : null;
        }
        catch (RpcException) when (!cancellation.IsCancellationRequested)
        {
            // What cannot be read cannot be compared; a ping says whether the server is there.
            return null;
        }
    }

    private static CancellationTokenSource Within(TimeSpan? timeout, CancellationToken cancellation)
    {
        CancellationTokenSource source = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        if (timeout is { TotalMilliseconds: >= 0 and < int.MaxValue } time)
        {
            source.CancelAfter(time);
        }

        return source;
    }

    // Channels ask for as long as the limits let a call take, which may be longer than this one has.
    private RpcSchema AskForSchema(TimeSpan? timeout, CancellationToken time, CancellationToken cancellation)
    {
        try
        {
            return Cancellable(() => _channel.FetchSchema(time), time);
        }
        catch (RpcException e) when (
            e.Code == RpcStatusCode.Cancelled && timeout is { } passed && time.IsCancellationRequested
            && !cancellation.IsCancellationRequested)
        {
            throw CallErrors.TimedOut(Endpoint, passed, sent: false, e);
        }
    }
}
