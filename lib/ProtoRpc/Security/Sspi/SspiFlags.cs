namespace ProtoRpc.Security.Sspi;

/// <summary>What is asked of a context. The numbers of clients and servers differ.</summary>
internal static class SspiFlags
{
    /// <summary>Mutual authentication, replay and sequence detection, confidentiality, DCE style, a
    /// connection, and integrity.</summary>
    public const uint OfClient = 0x2 | 0x4 | 0x8 | Confidentiality | DceStyle | 0x800 | ClientIntegrity;

    /// <summary>The same for a server, which need not ask for mutual authentication.</summary>
    public const uint OfDceServer = OfServer | DceStyle;

    /// <summary>The same without DCE style, which callers of HTTP do not speak.</summary>
    public const uint OfServer = 0x4 | 0x8 | Confidentiality | 0x800 | ServerIntegrity;

    public const uint Confidentiality = 0x10;
    public const uint ClientIntegrity = 0x10000;
    public const uint ServerIntegrity = 0x20000;
    private const uint DceStyle = 0x200;

    /// <summary>Whether what a context got is enough for a level.</summary>
    public static bool Support(uint got, bool isServer, RpcProtectionLevel level)
    {
        uint integrity = isServer ? ServerIntegrity : ClientIntegrity;
        uint needed = level switch
        {
            <= RpcProtectionLevel.Connect => 0,
            RpcProtectionLevel.Privacy => Confidentiality | integrity,
            _ => integrity,
        };
        return (got & needed) == needed;
    }
}
