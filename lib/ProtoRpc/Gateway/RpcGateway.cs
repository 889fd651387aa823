using System.Collections.Frozen;
using System.IO.Enumeration;
using ProtoRpc.Gateway;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

/// <summary>Forwards the calls of a server to another server. Each side has its own endpoints, transports and
/// credentials.</summary>
/// <remarks>Messages are not decoded if both the caller and the client use binary protobuf. For callers with
/// JSON, XML or forms, messages are converted. The limits of both sides apply. The gateway uses the client's
/// credentials and retries, and does not dispose the client.</remarks>
/// <example><code>
/// await using RpcServer gateway = RpcGateway.Create(
///         orders, serverOptions: new RpcServerOptions().WithHttp())
///     .AddEndpoint("grpc://127.0.0.1:50051")
///     .StartListening();
/// </code></example>
public static class RpcGateway
{
    /// <summary>Creates a server that forwards all calls of the services in the client's schema. Services of
    /// gRPC itself, such as reflection, are only forwarded if they are listed.</summary>
    /// <param name="client">The client of the other server.</param>
    /// <param name="options">The options for headers; null for the defaults.</param>
    /// <param name="serverOptions">The options of the server; null for the defaults.</param>
    /// <param name="services">The bare or full names of services; none for all.</param>
    /// <exception cref="RpcException">FailedPrecondition: the client has no schema, or the schema has no
    /// services.</exception>
    public static RpcServer Create(
        RpcClient client, RpcGatewayOptions? options = null, RpcServerOptions? serverOptions = null,
        params IReadOnlyList<string> services) =>
        new RpcServer((serverOptions ?? new RpcServerOptions()).Copy()).Forward(client, options, services);

    /// <summary>Forwards the calls of all methods of services that have no handler.</summary>
    /// <param name="server">The server, before it listens. Services that it does not have are added.</param>
    /// <param name="client">The client of the other server.</param>
    /// <param name="services">The bare or full names of services; none for all services of the client's
    /// schema, except those of gRPC itself.</param>
    /// <exception cref="RpcException">NotFound: a service does not exist. FailedPrecondition: the client has
    /// no schema.</exception>
    public static RpcServer Forward(
        this RpcServer server, RpcClient client, params IReadOnlyList<string> services) =>
        server.Forward(client, options: null, services);

    /// <inheritdoc cref="Forward(RpcServer, RpcClient, IReadOnlyList{string})"/>
    /// <param name="server">The server, before it listens. Services that it does not have are added.</param>
    /// <param name="client">The client of the other server.</param>
    /// <param name="options">The options for headers; null for the defaults.</param>
    /// <param name="services">The bare or full names of services; none for all services of the client's
    /// schema, except those of gRPC itself.</param>
    public static RpcServer Forward(
        this RpcServer server, RpcClient client, RpcGatewayOptions? options,
        params IReadOnlyList<string> services)
    {
        ArgumentNullException.ThrowIfNull(server);
        ArgumentNullException.ThrowIfNull(client);
        ArgumentNullException.ThrowIfNull(services);
        RpcMethodHandler handler = HandlerOfAll(client, options);
        foreach (RpcServiceInfo wanted in ServicesOf(client, services))
        {
            RpcServiceInfo? service = server.FindService(wanted.FullName);
            if (service is null)
            {
                server.AddService(wanted);
                service = wanted;
            }

            server.HandleRest(service, handler);
        }

        return server;
    }

    /// <summary>Creates a handler that forwards the calls of a method.</summary>
    /// <param name="client">The client of the other server. If it has a schema, the schema must contain the
    /// method, with messages of the same names.</param>
    /// <param name="options">The options for headers; null for the defaults.</param>
    /// <remarks>A server rejects the handler for a streaming method if the client's endpoint does not support
    /// streams.</remarks>
    public static RpcMethodHandler Handler(RpcClient client, RpcGatewayOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(client);
        return new ForwardingHandler(client, options, isForAll: false);
    }

    /// <summary>Creates a handler for any method. If the client cannot call a method, the call is
    /// rejected.</summary>
    internal static RpcMethodHandler HandlerOfAll(RpcClient client, RpcGatewayOptions? options) =>
        new ForwardingHandler(client, options, isForAll: true);

    /// <summary>The services that a gateway forwards if none is named.</summary>
    internal static IReadOnlyList<RpcServiceInfo> ServicesOf(
        RpcClient client, params IReadOnlyList<string> names)
    {
        RpcSchema schema = client.Schema ?? throw new RpcException(
            RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSchema,
            $"The connection to '{client.Endpoint}' has no schema, so its services are unknown. "
            + "Connect with a schema.", client.Endpoint);
        RpcServiceInfo[] services = names.Count > 0
            ? [.. names.Select(schema.GetService)]
            : [.. schema.Services.Where(
                service => !IsOfProtocol(service) && service.Problem is null)];
        return services.Length > 0 ? services : throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"The schema of the connection to '{client.Endpoint}' declares no service to forward.",
            client.Endpoint);
    }

    // Each server has its own reflection, health and ping services.
    private static bool IsOfProtocol(RpcServiceInfo service) =>
        service.FullName.StartsWith("grpc.reflection.", StringComparison.Ordinal)
        || service.FullName.StartsWith("grpc.health.", StringComparison.Ordinal)
        || service.FullName.StartsWith("google.protobuf.rpc_messages.", StringComparison.Ordinal);
}

/// <summary>Selects the headers and trailers that a gateway forwards in addition to the messages. Gateways
/// copy the options.</summary>
/// <remarks>Deadlines, the call context, the status, details and cancellation are always forwarded. Headers
/// and trailers are forwarded, except three groups: those of the connection, such as <c>connection</c>,
/// <c>content-*</c>, <c>accept*</c> and <c>grpc-*</c>; those that carry credentials or claim an identity,
/// such as <c>authorization</c>, <c>cookie</c>, <c>set-cookie</c>, <c>x-api-key</c>, <c>forwarded</c> and
/// <c>x-forwarded-*</c>; and those of browsers and caches.</remarks>
public sealed record RpcGatewayOptions
{
    /// <summary>Names of headers and trailers to forward although they carry credentials, claim an identity,
    /// or belong to browsers and caches. Names may contain <c>*</c> and <c>?</c>. Headers of the connection
    /// are never forwarded.</summary>
    public IReadOnlyList<string> ForwardHeaders { get; init; } = [];

    /// <summary>Names of headers and trailers that are not forwarded. Names may contain <c>*</c> and
    /// <c>?</c>. They override <see cref="ForwardHeaders"/>.</summary>
    public IReadOnlyList<string> BlockHeaders { get; init; } = [];

    /// <summary>The maximum number of gateways that a call passes, at least 1. This ends calls that are
    /// forwarded in a circle.</summary>
    public int MaxHops { get; init; } = 8;

    internal RpcGatewayOptions Copy()
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(MaxHops, 1);
        return this with { ForwardHeaders = [.. ForwardHeaders], BlockHeaders = [.. BlockHeaders] };
    }
}

/// <summary>Says which headers and trailers pass a gateway.</summary>
internal sealed class HeaderRule(RpcGatewayOptions options)
{
    /// <summary>Counts the gateways that a call has passed.</summary>
    public const string Hops = PlainHeaders.Hops;

    // Headers of one connection, which the next connection sets itself.
    private static readonly FrozenSet<string> OfConnection = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        Hops, "host", "date", "server", "expect", "http2-settings", "alt-svc",
        HttpNames.CallContext, HttpNames.AcceptTrailers, GrpcCallContext.HeaderName);

    private static readonly string[] PrefixesOfConnection =
        ["content-", "accept", "connect-", "proxy-", HttpNames.TrailerPrefix];

    // Identities: a caller that could send these through a gateway could use the gateway's rights, and a
    // service that receives a caller's password could use it elsewhere.
    private static readonly FrozenSet<string> OfIdentity = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "authorization", "cookie", "set-cookie", "www-authenticate", "authentication-info", "forwarded",
        "via", "x-real-ip", "api-key", "x-api-key", "apikey", "x-auth-token", "x-access-token",
        "x-csrf-token", "x-xsrf-token", "x-client-cert", "x-amz-security-token",
        "x-goog-iam-authorization-token",
        "x-ms-client-principal");

    // Headers between browsers or caches and their server.
    private static readonly FrozenSet<string> OfBrowsers = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "origin", "referer", "user-agent", "cache-control", "pragma", "expires", "etag", "vary", "age",
        "range", "last-modified", "dnt", "priority", "upgrade-insecure-requests", "strict-transport-security",
        "x-content-type-options", "x-accel-buffering", "x-frame-options", "x-powered-by", "location",
        "retry-after", "allow");

    private static readonly string[] PrefixesOfOthers =
        ["x-forwarded-", "x-client-cert-", "x-ssl-", "sec-", "if-", "access-control-"];

    /// <summary>Headers that pass only where the options name them.</summary>
    public static IEnumerable<string> OfOthers => OfIdentity.Concat(OfBrowsers);

    /// <summary>Adds what passes to the metadata of the next call.</summary>
    public void Copy(RpcMetadata from, RpcMetadata to)
    {
        foreach ((string name, object value) in from)
        {
            if (!Passes(name))
            {
                continue;
            }

            try
            {
                if (value is byte[] bytes)
                {
                    to.Add(name, bytes);
                }
                else
                {
                    to.Add(name, (string)value);
                }
            }
            catch (RpcException)
            {
                // HTTP allows names and values that other protocols do not. Such a header is omitted, so that
                // the call does not fail.
            }
        }
    }

    public bool Passes(string name) =>
        !IsOfConnection(name)
        && !options.BlockHeaders.Any(pattern => Matches(pattern, name))
        && (!IsOfOthers(name) || options.ForwardHeaders.Any(pattern => Matches(pattern, name)));

    private static bool IsOfConnection(string name) =>
        HttpNames.IsFraming(name) || GrpcHeaders.IsReserved(name) || OfConnection.Contains(name)
        || StartsWithOne(PrefixesOfConnection, name);

    private static bool IsOfOthers(string name) =>
        OfIdentity.Contains(name) || OfBrowsers.Contains(name) || StartsWithOne(PrefixesOfOthers, name);

    private static bool StartsWithOne(string[] prefixes, string name) =>
        prefixes.Any(prefix => name.StartsWith(prefix, StringComparison.OrdinalIgnoreCase));

    private static bool Matches(string pattern, string name) =>
        FileSystemName.MatchesSimpleExpression(pattern, name, ignoreCase: true);
}
