using System.Net;
using Microsoft.Extensions.Logging;
using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>The options of a client. Clients copy them, so later changes only apply to new clients.</summary>
/// <example><code>
/// RpcClientOptions options = new()
/// {
///     RetryCount = 3,
///     Headers = new() { { "x-tenant", "blue" } },
///     Limits = new() { ConnectTimeout = TimeSpan.FromSeconds(5) },
/// };
/// await using RpcClient client = await RpcClient.ConnectAsync("grpc://127.0.0.1:50051", options);
/// </code></example>
public sealed record RpcClientOptions
{
    /// <summary>The limits; the call timeout is the default deadline.</summary>
    public RpcLimits Limits { get; init; } = RpcLimits.Default;

    /// <summary>The credentials and the authentication of calls.</summary>
    public RpcClientSecurity Security { get; init; } = RpcClientSecurity.Anonymous;

    /// <summary>The certificates and server names for TLS.</summary>
    public RpcTlsOptions Tls { get; init; } = new();

    /// <summary>Whether to use TLS on a native endpoint on TCP; the address of other endpoints determines
    /// it.</summary>
    public bool UseTls { get; init; }

    /// <summary>Creates the HTTP handler for HTTP, REST, Connect, gRPC-Web and gRPC endpoints, for
    /// example that of a test server; null for sockets. With a custom handler,
    /// <see cref="Tls"/>, <see cref="Security"/> and <see cref="KeepAlive"/> have no effect. Called for each
    /// client, and for each schema that is fetched over HTTP; they dispose the handler.</summary>
    public Func<HttpMessageHandler>? HttpHandler { get; init; }

    /// <summary>The proxy for HTTP and gRPC endpoints; gRPC uses CONNECT tunnels. Null uses the environment's
    /// proxy, except for loopback. <c>new WebProxy()</c> uses no proxy.</summary>
    public IWebProxy? Proxy { get; init; }

    /// <summary>The headers to send with every call.</summary>
    public RpcMetadata Headers { get; init; } = new();

    /// <summary>How requests are compressed, if the transport supports compression.</summary>
    public RpcCompression Compression { get; init; }

    /// <summary>When to request compressed replies from HTTP endpoints; compressed replies are always
    /// accepted. <see cref="RpcReplyCompression.Automatic"/> requests them from endpoints that are not on
    /// loopback, and from those that get compressed requests.</summary>
    public RpcReplyCompression ReplyCompression { get; init; }

    /// <summary>Whether methods without side effects (<c>idempotency_level = NO_SIDE_EFFECTS</c>) are called
    /// by GET on <c>connect://</c> and <c>connects://</c> endpoints, so that caches can answer. Requests
    /// whose address would be longer than 8,000 characters are sent by POST.</summary>
    public bool HttpGet { get; init; }

    /// <summary>Whether <c>grpcweb://</c> and <c>grpcwebs://</c> endpoints use the text form of gRPC-Web,
    /// <c>application/grpc-web-text</c>, for proxies that do not pass binary bodies on.</summary>
    public bool GrpcWebText { get; init; }

    /// <summary>How often a gRPC connection with running calls sends a keepalive ping; null for never. Many
    /// servers close connections that ping more often than every five minutes.</summary>
    public TimeSpan? KeepAlive { get; init; }

    /// <summary>Whether the client connects with its first call. Otherwise connecting reports an unreachable
    /// server.</summary>
    public bool Lazy { get; init; }

    /// <summary>Which failed calls to retry, how often, and after which pauses; null for no retries.
    /// Connecting is retried also. Calls with a stream of requests are not retried, because the messages
    /// that were sent are not kept.</summary>
    public RpcRetryPolicy? Retry { get; init; }

    /// <summary>The number of retries of <see cref="Retry"/>: the short form if the rest of the policy is
    /// the default, with which only calls are retried that the server cannot have run. 0 for no
    /// retries.</summary>
    public int RetryCount
    {
        get => Retry?.Count ?? 0;
        init => Retry = value == 0 && Retry is null ? null : (Retry ?? new()) with { Count = value };
    }

    /// <summary>The interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcClientInterceptor> Interceptors { get; init; } = [];

    /// <summary>Creates the logger of the client, in the category <c>ProtoRpc.RpcClient</c> or
    /// <c>ProtoRpc.RpcRawClient</c>; null for no log. Warnings are protocol violations of a server that the
    /// client tolerates, and each retry with its number, status and pause. Failed calls and connections are
    /// logged as information, and every call with its time and sizes as debug.</summary>
    public ILoggerFactory? LoggerFactory { get; init; }

    /// <summary>Receives what the client sends and receives, for debugging; null for none.</summary>
    public RpcTrace? Trace { get; init; }

    /// <summary>The format of requests to HTTP endpoints, and of the requested replies.</summary>
    public MessageFormat Format { get; init; } = MessageFormats.Binary;

    /// <summary>The service for bare method names and for the first binding of the connection; null for the
    /// only service of the schema.</summary>
    public string? Service { get; init; }

    /// <summary>The interface id of <see cref="Service"/>; null for the service's own.</summary>
    public Guid? InterfaceId { get; init; }

    /// <summary>The types of server exceptions that the client recreates.</summary>
    public RpcExceptionTypes ExceptionTypes { get; init; } = RpcExceptionTypes.CoreLibrary;

    /// <summary>A copy that the caller cannot change. PowerShell and the binder of configurations also write
    /// init-only properties, so the original options may still change.</summary>
    internal RpcClientOptions Copy() => this with
    {
        Limits = Limits with { },
        Security = Security with { },
        Tls = Tls with { },
        Headers = Headers.Copy(),
        Retry = Retry?.Copy(),
        Interceptors = [.. Interceptors],
    };
}

/// <summary>Rejects options that do not apply to an endpoint, before anything is sent.</summary>
internal static class ClientOptionsCheck
{
    /// <exception cref="RpcException">InvalidArgument or Unimplemented.</exception>
    public static void Check(RpcEndpoint endpoint, RpcClientOptions options)
    {
        if (options.Limits.MultiPartThreshold is not 0 and < MultiPartSender.MinThreshold)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLimit,
                $"{nameof(RpcLimits)}.{nameof(RpcLimits.MultiPartThreshold)} is "
                + $"{options.Limits.MultiPartThreshold:N0}; it must be at least "
                + $"{MultiPartSender.MinThreshold:N0}, or 0 to send no parts.");
        }

        options.Retry?.Check();
        if (options.UseTls && !endpoint.Has(EndpointFeatures.OptionalTls))
        {
            throw EndpointErrors.NoTls(endpoint);
        }

        ClientLogin.Check(options.Security);
        ServerAccount.Check(endpoint, options.Security);
        if (endpoint.IsGrpc)
        {
            GrpcEncoding.Select(options.Compression, endpoint);
        }

        if (endpoint.Kind.Protocol == EndpointProtocol.Connect && options.Format.Row.ConnectName is null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{endpoint}' does not support the format {options.Format.Name}. Use "
                + $"{nameof(MessageFormats.Binary)} or {nameof(MessageFormats.Json)}.", endpoint);
        }

        ClientAuthorization.Check(endpoint, options);
    }
}
