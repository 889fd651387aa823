using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>What an NTLM server sends about itself and requires,
/// and its sources of time and randomness.</summary>
internal sealed record NtlmServerOptions
{
    /// <summary>The longest NetBIOS name.</summary>
    private const int MaxNetBiosName = 15;

    /// <summary>The server's NetBIOS name.</summary>
    public string ComputerName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The domain of its accounts; a stand-alone server is its own domain.</summary>
    public string DomainName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The channel binding hash of the TLS connection, or null. A client that sends a hash must send
    /// the same one.</summary>
    public byte[]? ChannelBinding { get; init; }

    /// <summary>How far a client's answer may be off this clock: 36 hours, as on Windows, since clients of no
    /// domain have clocks of their own. A challenge is answered once,
    /// so this is not what stops a replay.</summary>
    public TimeSpan MaxSkew { get; init; } = TimeSpan.FromHours(36);

    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Makes so many random octets.</summary>
    public Func<int, byte[]> Random { get; init; } = RandomNumberGenerator.GetBytes;

    private static string NetBiosName(string host)
    {
        string name = host.Split('.')[0].ToUpperInvariant();
        return name.Length > MaxNetBiosName ? name[..MaxNetBiosName] : name;
    }
}
