using System.Net;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc;

/// <summary>Whom HTTP endpoints let in, beside what the server takes as proof on all its endpoints.
/// When nothing is set in either, everybody.</summary>
/// <remarks>The checks do not run on native endpoints. A server with a check that opens a native endpoint on
/// TCP also needs <see cref="RpcServerSecurity.Authentication"/>, or rules of
/// <see cref="RpcAuthorization"/> that allow anonymous callers no method; otherwise it does not
/// start.</remarks>
public sealed record HttpServerSecurity
{
    /// <summary>Checks a user name and password (RFC 7617).
    /// Plain HTTP accepts passwords only on loopback and Unix sockets.</summary>
    public HttpCallerCheck<NetworkCredential>? Basic { get; set; }

    /// <summary>Checks a bearer token (RFC 6750).</summary>
    public HttpCallerCheck<string>? Bearer { get; set; }

    /// <summary>Checks a client's certificate, of whose chain nothing is taken for granted. Certificates of
    /// certificate authorities are rejected before the check.</summary>
    public HttpCallerCheck<X509Certificate2>? ClientCertificate { get; set; }

    /// <summary>Whether callers who present nothing are served too.
    /// What is presented and wrong is refused anyhow.</summary>
    public bool AllowAnonymous { get; set; }

    internal bool IsOpen => Basic is null && Bearer is null && ClientCertificate is null;

    internal bool IsRequired => !IsOpen && !AllowAnonymous;
}
