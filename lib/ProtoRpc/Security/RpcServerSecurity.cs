namespace ProtoRpc;

/// <summary>The authentication that a server's native endpoints require.</summary>
/// <remarks>On local transports and pipes, the kernel identifies callers, and no mechanism is
/// needed.</remarks>
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
        set => _authentication = value;
    }

    /// <summary>Whether <see cref="Authentication"/> is set, if only to None.</summary>
    internal bool IsAuthenticationSet => _authentication is not null;

    /// <summary>The minimum protection of authenticated calls.</summary>
    public RpcProtectionLevel MinimumLevel { get; set; } = RpcProtectionLevel.Integrity;

    /// <summary>The Kerberos service principal name of the service, such as <c>host/server.example.com</c>;
    /// null for any that the machine has a key for.</summary>
    public string? ServicePrincipalName { get; set; }

    /// <summary>The accounts that the listener accepts with NTLM. If empty, Windows validates its own
    /// accounts and those of its domains.</summary>
    public IReadOnlyList<NtlmAccount> NtlmAccounts { get; set; } = [];
}
