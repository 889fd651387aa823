namespace ProtoRpc;

/// <summary>How the calls of an authenticated connection are protected;
/// the numbers are those of DCE/RPC.</summary>
public enum RpcProtectionLevel
{
    /// <summary>The caller is not authenticated.</summary>
    None = 1,

    /// <summary>The caller proves who it is when it connects; what follows is not protected.</summary>
    Connect = 2,

    /// <summary>Every packet is proved to be the caller's. The native protocol does this with the same
    /// signatures as <see cref="Integrity"/>.</summary>
    Packet = 4,

    /// <summary>Every packet is signed: a changed one is refused.</summary>
    Integrity = 5,

    /// <summary>Every packet is signed, and its content is encrypted.</summary>
    Privacy = 6,
}
