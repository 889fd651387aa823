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

/// <summary>The identity of a client's calls.</summary>
public enum RpcClientAuthentication
{
    /// <summary>No authentication. Local transports still identify the caller.</summary>
    None,

    /// <summary>The same as <see cref="None"/>, by the original's other name.</summary>
    Anonymous,

    /// <summary>The account that this process runs as.</summary>
    Self,

    /// <summary>The user of a credential.</summary>
    User,

    /// <summary>The holder of a bearer token, on HTTP and gRPC endpoints.</summary>
    Bearer,
}

/// <summary>How a client authenticates.</summary>
public enum RpcMechanism
{
    /// <summary>With a credential, NTLM, like the original's clients. For the account of the process, NTLM on
    /// Windows and Kerberos elsewhere.</summary>
    Default,

    /// <summary>SPNEGO, which negotiates Kerberos or NTLM with the server.</summary>
    Negotiate,

    /// <summary>NTLM version 2.</summary>
    Ntlm,

    /// <summary>Kerberos.</summary>
    Kerberos,
}

/// <summary>How the calls of an authenticated connection are protected;
/// the numbers are those of DCE/RPC.</summary>
public enum RpcProtectionLevel
{
    /// <summary>The caller is not authenticated.</summary>
    None = 1,

    /// <summary>The caller authenticates when it connects. The calls are not protected.</summary>
    Connect = 2,

    /// <summary>Every packet is authenticated. The native protocol uses the same signatures as for <see
    /// cref="Integrity"/>.</summary>
    Packet = 4,

    /// <summary>Every packet is signed. A changed packet is rejected.</summary>
    Integrity = 5,

    /// <summary>Every packet is signed, and its content is encrypted.</summary>
    Privacy = 6,
}
