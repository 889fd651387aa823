namespace ProtoRpc.Protocols.Dce;

/// <summary>The answer to one proposed context.</summary>
/// <param name="Result">What was decided.</param>
/// <param name="Reason">Why it was refused, or the bits of acknowledged features.</param>
/// <param name="Transfer">The accepted syntax; zero otherwise.</param>
internal readonly record struct ContextResult(ContextDecision Result, ushort Reason, SyntaxId Transfer)
{
    /// <summary>Provider reason: none that C706 names.</summary>
    public const ushort NotSpecified = 0;

    /// <summary>Provider reason: the interface is not served.</summary>
    public const ushort InterfaceNotSupported = 1;

    /// <summary>Provider reason: none of the transfer syntaxes is spoken.</summary>
    public const ushort TransferNotSupported = 2;

    /// <summary>Provider reason: too many contexts.</summary>
    public const ushort LocalLimit = 3;

    /// <summary>The context with NDR.</summary>
    public static ContextResult Accepted { get; } = new(ContextDecision.Accepted, 0, SyntaxId.Ndr);

    /// <summary>A refusal by this side.</summary>
    public static ContextResult Refused(ushort reason) =>
        new(ContextDecision.ProviderRejection, reason, default);

    /// <summary>An answer to bind-time features.</summary>
    public static ContextResult Features(ushort bits) => new(ContextDecision.NegotiateAck, bits, default);
}

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
