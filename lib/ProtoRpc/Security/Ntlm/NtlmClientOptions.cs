using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>What an NTLM client says beside its proof, and where its time and chance come from.</summary>
internal sealed record NtlmClientOptions
{
    /// <summary>The service's principal name, which the server may check; empty for none.</summary>
    public string TargetName { get; init; } = "";

    /// <summary>The machine's name.</summary>
    public string Workstation { get; init; } = "";

    /// <summary>The channel binding hash, which ties the authentication to its TLS connection,
    /// or null.</summary>
    public byte[]? ChannelBinding { get; init; }

    /// <summary>The clock, for servers that do not send their time.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Makes so many random octets.</summary>
    public Func<int, byte[]> Random { get; init; } = RandomNumberGenerator.GetBytes;
}
