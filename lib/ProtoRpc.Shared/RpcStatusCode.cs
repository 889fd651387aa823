namespace ProtoRpc;

/// <summary>The outcome of a call: gRPC's seventeen status codes, used on every transport.</summary>
public enum RpcStatusCode
{
    /// <summary>The call succeeded.</summary>
    OK = 0,

    /// <summary>The caller cancelled the call.</summary>
    Cancelled = 1,

    /// <summary>The handler failed without a status.</summary>
    Unknown = 2,

    /// <summary>The request is invalid, independent of the state of the server.</summary>
    InvalidArgument = 3,

    /// <summary>The deadline passed before the call ended.</summary>
    DeadlineExceeded = 4,

    /// <summary>The requested item does not exist.</summary>
    NotFound = 5,

    /// <summary>The item to create already exists.</summary>
    AlreadyExists = 6,

    /// <summary>The caller is authenticated, but not authorized.</summary>
    PermissionDenied = 7,

    /// <summary>A limit was reached: message size, calls, memory.</summary>
    ResourceExhausted = 8,

    /// <summary>The server is not in the state that the call requires.</summary>
    FailedPrecondition = 9,

    /// <summary>The call was aborted, for example because of a concurrent change.</summary>
    Aborted = 10,

    /// <summary>A value is outside the valid range.</summary>
    OutOfRange = 11,

    /// <summary>The server does not implement the service or method.</summary>
    Unimplemented = 12,

    /// <summary>An error in the protocol or the program.</summary>
    Internal = 13,

    /// <summary>The server cannot be reached now. Retrying later may help.</summary>
    Unavailable = 14,

    /// <summary>Data was lost or damaged.</summary>
    DataLoss = 15,

    /// <summary>The caller is not authenticated.</summary>
    Unauthenticated = 16,
}
