namespace ProtoRpc;

/// <summary>What a listener takes as proof of who calls. Without <see cref="None"/>,
/// it refuses who brings none.</summary>
[Flags]
public enum RpcAuthentication
{
    /// <summary>Anonymous callers are served.</summary>
    None = 1,

    /// <summary>SPNEGO, which agrees with the caller on Kerberos or NTLM.</summary>
    Negotiate = 2,

    /// <summary>NTLM version 2.</summary>
    Ntlm = 4,

    /// <summary>Kerberos.</summary>
    Kerberos = 8,
}
