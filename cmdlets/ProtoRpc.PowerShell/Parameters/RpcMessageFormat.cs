namespace ProtoRpc.PowerShell;

/// <summary>How a message is written outside of an object.</summary>
public enum RpcMessageFormat
{
    /// <summary>Protocol Buffers' binary form.</summary>
    Binary = 0,
}
