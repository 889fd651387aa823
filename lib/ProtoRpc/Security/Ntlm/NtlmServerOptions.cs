using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>What an NTLM server tells about itself and demands,
/// and where its time and chance come from.</summary>
internal sealed record NtlmServerOptions
{
    /// <summary>The longest NetBIOS name.</summary>
    private const int MaxNetBiosName = 15;

    /// <summary>The server's NetBIOS name.</summary>
    public string ComputerName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The domain of its accounts; a server of its own is its own domain.</summary>
    public string DomainName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The hash of the TLS connection around it, where there is one;
    /// the client must then know it.</summary>
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
