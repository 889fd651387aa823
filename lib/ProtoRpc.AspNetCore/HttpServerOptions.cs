using System.Net;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using ProtoRpc.AspNetCore.Grpc;

namespace ProtoRpc;

/// <summary>How a server's HTTP and gRPC endpoints behave. The certificate of those with TLS is
/// <see cref="RpcServerOptions.Certificate"/>.</summary>
/// <example><code>
/// RpcServerOptions options = new RpcServerOptions().WithHttp(new HttpServerOptions
/// {
///     AllowedOrigins = ["https://shop.example"],
///     EnableReflection = false,
/// });
/// </code></example>
public sealed record HttpServerOptions
{
    /// <summary>How the endpoints authenticate callers.</summary>
    public HttpServerSecurity Security { get; init; } = new();

    /// <summary>Whether other machines can call <c>http://</c> endpoints, whose traffic is not encrypted. For
    /// listeners behind a proxy that terminates TLS, and for closed networks.</summary>
    public bool AllowUnencrypted { get; init; }

    /// <summary>The origins of web pages that may call, as <c>https://app.example.com</c>, or <c>*</c> for
    /// all. Pages of the endpoint itself always may; programs that are not browsers are not asked.</summary>
    public IReadOnlyList<string> AllowedOrigins { get; init; } = [];

    /// <summary>The host names by which clients can call the endpoints, in addition to the loopback names on
    /// loopback: <c>rpc.example.com</c>, <c>*.example.com</c> for all names below it, <c>*</c> for every
    /// name. Requests with other names receive 403. If it is empty, loopback endpoints accept
    /// <c>localhost</c>, <c>*.localhost</c>, loopback addresses and, with TLS, the names of the certificate,
    /// and other endpoints accept every name. Unix sockets accept every name.</summary>
    public IReadOnlyList<string> AllowedHosts { get; init; } = [];

    /// <summary>Whether GET calls every method. Without it, GET calls only methods with
    /// <c>idempotency_level = NO_SIDE_EFFECTS</c> off loopback and from browsers, because any web page can
    /// make a browser send a GET.</summary>
    public bool AllowGet { get; init; }

    /// <summary>Whether gRPC endpoints serve their schema by grpc.reflection.v1 and v1alpha, and HTTP
    /// endpoints the page of their services and their .proto files. Rules of <see cref="RpcAuthorization"/>
    /// for <c>grpc.reflection.v1.ServerReflection/ServerReflectionInfo</c> apply to all of them.</summary>
    public bool EnableReflection { get; init; } = true;

    /// <summary>Whether gRPC endpoints serve the health service grpc.health.v1.</summary>
    public bool EnableHealth { get; init; } = true;

    /// <summary>The health checks of an application; null for none.</summary>
    internal HealthReports? Health { get; init; }

    /// <summary>When replies are compressed, for HTTP clients that accept it.
    /// <see cref="RpcReplyCompression.Automatic"/> compresses for clients on other machines. Replies over
    /// gRPC are compressed where their handler asks for it.</summary>
    public RpcReplyCompression ReplyCompression { get; init; }

    /// <summary>Replies of fewer bytes are not compressed: 1 KiB.</summary>
    public int CompressionThreshold { get; init; } = 1024;
}

/// <summary>How HTTP endpoints authenticate callers, in addition to the authentication of the server. If
/// neither is set, all callers are anonymous.</summary>
/// <remarks>The checks do not run on native endpoints. A server with a check that opens a native endpoint on
/// TCP also needs <see cref="RpcServerSecurity.Authentication"/>, or rules of <see cref="RpcAuthorization"/>
/// that allow anonymous callers no method; otherwise it does not start.</remarks>
/// <example><code>
/// HttpServerSecurity security = new()
/// {
///     Bearer = (token, cancellation) => ValueTask.FromResult&lt;IIdentity?>(
///         users.TryGetValue(token, out string? name) ? new GenericIdentity(name) : null),
/// };
/// HttpServerOptions options = new() { Security = security };
/// </code></example>
public sealed record HttpServerSecurity
{
    /// <summary>Checks a user name and password (RFC 7617).
    /// Plain HTTP accepts passwords only on loopback and Unix sockets.</summary>
    public HttpCallerCheck<NetworkCredential>? Basic { get; init; }

    /// <summary>Checks a bearer token (RFC 6750).</summary>
    public HttpCallerCheck<string>? Bearer { get; init; }

    /// <summary>Checks a client's certificate, of whose chain nothing is taken for granted. Certificates of
    /// certificate authorities are rejected before the check.</summary>
    public HttpCallerCheck<X509Certificate2>? ClientCertificate { get; init; }

    /// <summary>The certificate authorities of callers; null for none. The server accepts client certificates
    /// that one of them issued for client authentication and that have not expired, with the certificate's
    /// common name as the caller's name. With <see cref="ClientCertificate"/>, that check decides about these
    /// certificates, and the server rejects all others before it. Lists of revoked certificates are not
    /// fetched.</summary>
    public X509Certificate2Collection? ClientCaCertificates { get; init; }

    /// <summary>Whether callers without credentials are served as well. Invalid credentials are always
    /// rejected.</summary>
    public bool AllowAnonymous { get; init; }

    internal bool IsOpen => Basic is null && Bearer is null && !AcceptsCertificates;

    internal bool AcceptsCertificates => ClientCertificate is not null || ClientCaCertificates is not null;

    internal bool IsRequired => !IsOpen && !AllowAnonymous;
}

/// <summary>Authenticates a caller by its credentials.</summary>
/// <remarks>The caller receives the text of an <see cref="RpcException"/> that the check creates. Other
/// exceptions, such as those of calls that the check makes, are logged under a correlation id, which the
/// caller receives.</remarks>
/// <typeparam name="TProof">The type of the credentials.</typeparam>
/// <param name="proof">It.</param>
/// <param name="cancellation">Cancelled when the caller disconnects.</param>
/// <returns>The authenticated caller; null to reject it.</returns>
public delegate ValueTask<IIdentity?> HttpCallerCheck<in TProof>(
    TProof proof, CancellationToken cancellation);
