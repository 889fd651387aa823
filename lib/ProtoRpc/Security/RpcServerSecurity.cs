using System.Net;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc;

/// <summary>The authentication that a server's native endpoints require.</summary>
/// <remarks>On local transports and pipes, the kernel identifies callers, and no mechanism is
/// needed.</remarks>
/// <example><code>
/// RpcServerOptions options = new()
/// {
///     Security = new()
///     {
///         Authentication = RpcAuthentication.Negotiate,
///         AllowedUsers = [@"SHOP\ann"],
///         MinimumLevel = RpcProtectionLevel.Privacy,
///     },
/// };
/// </code></example>
public sealed record RpcServerSecurity
{
    private RpcAuthentication? _authentication;

    /// <summary>Accepts all callers without authentication, also on servers that check the callers of other
    /// endpoints.</summary>
    public static RpcServerSecurity Anonymous => new() { Authentication = RpcAuthentication.None };

    /// <summary>The accepted authentication. Without <see cref="RpcAuthentication.None"/>, an anonymous
    /// caller is rejected before its request is read. If it is not set, anonymous callers are accepted,
    /// except by servers that check the callers of other endpoints: these do not start.</summary>
    public RpcAuthentication Authentication
    {
        get => _authentication ?? RpcAuthentication.None;
        init => _authentication = value;
    }

    /// <summary>Whether <see cref="Authentication"/> is set, if only to None.</summary>
    internal bool IsAuthenticationSet => _authentication is not null;

    /// <summary>The minimum protection of authenticated calls.</summary>
    public RpcProtectionLevel MinimumLevel { get; init; } = RpcProtectionLevel.Integrity;

    /// <summary>The Kerberos service principal name of the service, such as <c>host/server.example.com</c>;
    /// null for any that the machine has a key for.</summary>
    public string? ServicePrincipalName { get; init; }

    /// <summary>The accounts that the listener accepts with NTLM. If empty, Windows validates its own
    /// accounts and those of its domains.</summary>
    public IReadOnlyList<NtlmAccount> NtlmAccounts { get; init; } = [];

    /// <summary>The users that may connect to <c>ncalrpc</c>, <c>ncacn_np</c> and <c>grpc+unix</c> endpoints,
    /// in addition to the account that runs the server and root: names, or user ids or SIDs. The server does
    /// not start if the machine has no such user. On Windows, <c>grpc+unix</c> endpoints cannot be opened to
    /// other accounts.</summary>
    public IReadOnlyList<string> AllowedUsers { get; init; } = [];

    /// <summary>The groups whose members may connect to the endpoints of <see cref="AllowedUsers"/>: names,
    /// or group ids or SIDs. Except on Windows, the system's group database decides when a caller connects;
    /// open connections remain.</summary>
    public IReadOnlyList<string> AllowedGroups { get; init; } = [];
}

/// <summary>How a client authenticates, and how native endpoints protect its calls.</summary>
/// <example><code>
/// RpcClientOptions options = new()
/// {
///     Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = token },
/// };
/// </code></example>
public sealed record RpcClientSecurity
{
    /// <summary>Anonymous calls. Local transports still identify the caller.</summary>
    public static RpcClientSecurity Anonymous => new();

    /// <summary>The identity of the calls. On local transports and pipes, the kernel reports the user for
    /// <see cref="RpcClientAuthentication.Self"/>, and no mechanism is needed.</summary>
    public RpcClientAuthentication Authentication { get; init; }

    /// <summary>The credential for <see cref="RpcClientAuthentication.User"/>.</summary>
    public NetworkCredential? Credential { get; init; }

    /// <summary>The bearer token for <see cref="RpcClientAuthentication.Bearer"/>.</summary>
    public string? Token { get; init; }

    /// <summary>The authentication mechanism.</summary>
    public RpcMechanism Mechanism { get; init; }

    /// <summary>How the calls are protected.</summary>
    public RpcProtectionLevel ProtectionLevel { get; init; } = RpcProtectionLevel.Privacy;

    /// <summary>The Kerberos service principal name of the server; null for <c>host/</c> and the endpoint's
    /// host.</summary>
    public string? ServicePrincipalName { get; init; }

    /// <summary>The account that runs the server of a <c>grpc+unix</c>, <c>ncalrpc</c> or <c>ncacn_np</c>
    /// endpoint on this machine: a name, or a user id or SID. Connecting fails if another account runs it.
    /// Null allows every account, but the client then sends tokens, passwords and headers with secrets only
    /// to its own account and to administrators, and calls <c>ncalrpc</c> endpoints only of these.</summary>
    public string? ServerUser { get; init; }

    /// <summary>The authentication, without the token, which must not be logged.</summary>
    public override string ToString() =>
        $"{nameof(RpcClientSecurity)} {{ {Authentication}, {Mechanism}, {ProtectionLevel} }}";
}

/// <summary>The TLS options of a client.</summary>
/// <example><code>
/// RpcTlsOptions tls = new()
/// {
///     CaCertificates = [X509CertificateLoader.LoadCertificateFromFile(caFile)],
///     ClientCertificate = X509CertificateLoader.LoadPkcs12FromFile(clientFile, password: null),
/// };
/// RpcClientOptions options = new() { Tls = tls };
/// </code></example>
public sealed record RpcTlsOptions
{
    /// <summary>The trusted CA certificates, instead of the machine's; null for the machine's.</summary>
    public X509Certificate2Collection? CaCertificates { get; init; }

    /// <summary>The client certificate with its private key.</summary>
    public X509Certificate2? ClientCertificate { get; init; }

    /// <summary>The server name that the certificate must contain, instead of the endpoint's host.</summary>
    public string? ServerName { get; init; }

    /// <summary>Accepts any certificate. Anyone between can then read and change everything.</summary>
    public bool SkipCertificateCheck { get; init; }
}

/// <summary>An account of a listener that validates NTLM itself: a name and the NT hash of the
/// password.</summary>
/// <remarks>Anyone with the hash can authenticate as the user: protect it like the password.</remarks>
public sealed class NtlmAccount
{
    private NtlmAccount(string user, string domain, byte[] ntHash)
    {
        if (user.Length == 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidNtlmAccount,
                "An NTLM account needs a user name.");
        }

        User = user;
        Domain = domain;
        NtHash = ntHash;
    }

    /// <summary>The caller's name in handlers: <c>DOMAIN\user</c>, or only the user.</summary>
    public string Name => Domain.Length == 0 ? User : $@"{Domain}\{User}";

    internal string User { get; }

    internal string Domain { get; }

    internal byte[] NtHash { get; }

    /// <summary>Creates an account with a password.</summary>
    /// <param name="credential">The name and password. <c>DOMAIN\user</c> only matches callers with that
    /// domain; a bare user name matches callers with any domain.</param>
    /// <exception cref="RpcException">InvalidArgument: the user name is empty.</exception>
    public static NtlmAccount From(NetworkCredential credential)
    {
        ArgumentNullException.ThrowIfNull(credential);
        NtlmCredential known = NtlmCredential.From(credential);
        return new NtlmAccount(known.User, known.Domain, known.NtHash);
    }

    /// <summary>Creates an account with the NT hash of a password: the MD4 hash of its UTF-16 text.</summary>
    /// <param name="name"><c>DOMAIN\user</c> or a bare user name.</param>
    /// <param name="ntHash">The hash, 16 octets.</param>
    /// <exception cref="RpcException">InvalidArgument: the user name is empty, or the hash has another
    /// size.</exception>
    public static NtlmAccount FromHash(string name, ReadOnlySpan<byte> ntHash)
    {
        ArgumentNullException.ThrowIfNull(name);
        if (ntHash.Length != NtlmCrypto.KeySize)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidNtlmAccount,
                $"The NT hash of '{name}' has {ntHash.Length} bytes; it must have 16.");
        }

        int backslash = name.IndexOf('\\');
        return new NtlmAccount(
            name[(backslash + 1)..], backslash < 0 ? "" : name[..backslash], ntHash.ToArray());
    }

    /// <summary>The name; never the hash.</summary>
    public override string ToString() => Name;
}
