namespace ProtoRpc;

/// <summary>Whom a server's native endpoints let in.</summary>
/// <remarks>Callers on local transports and pipes are known by the word of the kernel,
/// and need no mechanism.</remarks>
public sealed record RpcServerSecurity
{
    /// <summary>Everybody, without a proof.</summary>
    public static RpcServerSecurity Anonymous => new();

    /// <summary>What is taken as proof. Unless <see cref="RpcAuthentication.None"/> is in it, a caller who
    /// brings none is refused before anything looks at what he sends.</summary>
    public RpcAuthentication Authentication { get; set; } = RpcAuthentication.None;

    /// <summary>The least protection of authenticated calls.</summary>
    public RpcProtectionLevel MinimumLevel { get; set; } = RpcProtectionLevel.Integrity;

    /// <summary>The name under which Kerberos knows the service, as <c>host/server.example.com</c>; null for
    /// any that the machine has a key of.</summary>
    public string? ServicePrincipalName { get; set; }

    /// <summary>The accounts that the listener accepts with NTLM. If empty, Windows validates its own
    /// accounts and those of its domains.</summary>
    public IReadOnlyList<NtlmAccount> NtlmAccounts { get; set; } = [];
}
