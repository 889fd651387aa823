namespace ProtoRpc;

/// <summary>How a client proves who it is.</summary>
public enum RpcMechanism
{
    /// <summary>NTLM for a credential, as the original's clients do; for the own account NTLM on Windows and
    /// Kerberos elsewhere.</summary>
    Default,

    /// <summary>SPNEGO, which agrees with the server on Kerberos or NTLM.</summary>
    Negotiate,

    /// <summary>NTLM version 2.</summary>
    Ntlm,

    /// <summary>Kerberos.</summary>
    Kerberos,
}
