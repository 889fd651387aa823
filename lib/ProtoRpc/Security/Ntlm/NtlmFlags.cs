namespace ProtoRpc.Security.Ntlm;

/// <summary>The negotiate flags ([MS-NLMP] section 2.2.2.5).</summary>
[Flags]
internal enum NtlmFlags : uint
{
    None = 0,
    Unicode = 0x00000001,
    RequestTarget = 0x00000004,
    Sign = 0x00000010,
    Seal = 0x00000020,
    Ntlm = 0x00000200,
    Anonymous = 0x00000800,
    AlwaysSign = 0x00008000,
    TargetTypeServer = 0x00020000,
    ExtendedSessionSecurity = 0x00080000,
    TargetInfo = 0x00800000,
    Version = 0x02000000,
    Key128 = 0x20000000,
    KeyExchange = 0x40000000,
    Key56 = 0x80000000,

    /// <summary>Without these there is no NTLMv2 session with 128-bit keys,
    /// and nothing less is spoken here.</summary>
    Required = Unicode | Ntlm | ExtendedSessionSecurity | Key128,

    /// <summary>What this side offers and accepts.</summary>
    Supported =
        Required | RequestTarget | Sign | Seal | AlwaysSign | TargetInfo | Version | KeyExchange | Key56,
}
