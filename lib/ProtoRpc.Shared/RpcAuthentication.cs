namespace ProtoRpc;

/// <summary>The authentication that a listener accepts. Without <see cref="None"/>, it rejects anonymous
/// callers.</summary>
[Flags]
public enum RpcAuthentication
{
    /// <summary>Anonymous callers are accepted.</summary>
    None = 1,

    /// <summary>SPNEGO, which negotiates Kerberos or NTLM with the caller.</summary>
    Negotiate = 2,

    /// <summary>NTLM version 2.</summary>
    Ntlm = 4,

    /// <summary>Kerberos.</summary>
    Kerberos = 8,
}
