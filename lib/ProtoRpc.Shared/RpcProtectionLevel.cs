namespace ProtoRpc;

/// <summary>How the calls of an authenticated connection are protected;
/// the numbers are those of DCE/RPC.</summary>
public enum RpcProtectionLevel
{
    /// <summary>The caller is not authenticated.</summary>
    None = 1,

    /// <summary>The caller authenticates when it connects. The calls are not protected.</summary>
    Connect = 2,

    /// <summary>Every packet is authenticated. The native protocol uses the same signatures as for <see
    /// cref="Integrity"/>.</summary>
    Packet = 4,

    /// <summary>Every packet is signed. A changed packet is rejected.</summary>
    Integrity = 5,

    /// <summary>Every packet is signed, and its content is encrypted.</summary>
    Privacy = 6,
}
