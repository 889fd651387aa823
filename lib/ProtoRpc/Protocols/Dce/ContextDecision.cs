namespace ProtoRpc.Protocols.Dce;

/// <summary>The result field of a context's answer.</summary>
internal enum ContextDecision : ushort
{
    /// <summary>Accepted.</summary>
    Accepted = 0,

    /// <summary>The program behind the interface refused.</summary>
    UserRejection = 1,

    /// <summary>The RPC runtime refused.</summary>
    ProviderRejection = 2,

    /// <summary>Bind-time features were acknowledged ([MS-RPCE] section 2.2.2.4).</summary>
    NegotiateAck = 3,
}
