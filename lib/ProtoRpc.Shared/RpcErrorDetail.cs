namespace ProtoRpc;

/// <summary>How much of an unexpected exception is sent to the caller.</summary>
/// <remarks>The text of an <see cref="RpcException"/> that a handler throws is sent at every level.</remarks>
public enum RpcErrorDetail
{
    /// <summary>That the call failed, and the id under which the server's record has the exception.</summary>
    None = 0,

    /// <summary>The exception's type, and the id.</summary>
    Type = 1,

    /// <summary>Type and message.</summary>
    Message = 2,

    /// <summary>Everything: message, stack traces, inner exceptions.</summary>
    Full = 3,
}
