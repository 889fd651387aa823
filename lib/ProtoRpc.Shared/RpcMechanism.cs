namespace ProtoRpc;

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
