namespace ProtoRpc;

/// <summary>How much of an unexpected exception is sent to the caller.</summary>
/// <remarks>The text of an <see cref="RpcException"/> that a handler throws is sent at every level.</remarks>
public enum RpcErrorDetail
{
    /// <summary>That the call failed, and the correlation id of the exception in the server's log.</summary>
    None = 0,

    /// <summary>The exception's type, and the id.</summary>
    Type = 1,

    /// <summary>The exception's type and message.</summary>
    Message = 2,

    /// <summary>The message, stack traces and inner exceptions.</summary>
    Full = 3,
}
