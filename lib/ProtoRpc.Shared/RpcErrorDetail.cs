namespace ProtoRpc;

/// <summary>How much of a handler's exception is told to the caller.</summary>
public enum RpcErrorDetail
{
    /// <summary>Only that the call failed.</summary>
    None = 0,

    /// <summary>The exception's type.</summary>
    Type = 1,

    /// <summary>Type and message.</summary>
    Message = 2,

    /// <summary>Everything: message, stack traces, inner exceptions.</summary>
    Full = 3,
}
