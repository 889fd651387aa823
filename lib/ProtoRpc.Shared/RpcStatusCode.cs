namespace ProtoRpc;

/// <summary>The outcome of a call: gRPC's seventeen status codes, used on every transport.</summary>
public enum RpcStatusCode
{
    /// <summary>The call succeeded.</summary>
    OK = 0,

    /// <summary>The caller cancelled the call.</summary>
    Cancelled = 1,

    /// <summary>The handler failed without saying more.</summary>
    Unknown = 2,

    /// <summary>The request is invalid, independent of the state of the server.</summary>
    InvalidArgument = 3,

    /// <summary>The deadline passed before the call ended.</summary>
    DeadlineExceeded = 4,

    /// <summary>What the request names does not exist.</summary>
    NotFound = 5,

    /// <summary>What the request would create exists already.</summary>
    AlreadyExists = 6,

    /// <summary>The caller is known and may not do this.</summary>
    PermissionDenied = 7,

    /// <summary>A limit was reached: message size, calls, memory.</summary>
    ResourceExhausted = 8,

    /// <summary>The server is not in the state that the call needs.</summary>
    FailedPrecondition = 9,

    /// <summary>The call was given up, for example because of a concurrent change.</summary>
    Aborted = 10,

    /// <summary>A value lies past the valid range.</summary>
    OutOfRange = 11,

    /// <summary>The server does not know the service or method.</summary>
    Unimplemented = 12,

    /// <summary>The protocol or the program is broken.</summary>
    Internal = 13,

    /// <summary>The server cannot be reached now; trying again later may help.</summary>
    Unavailable = 14,

    /// <summary>Data was lost or damaged.</summary>
    DataLoss = 15,

    /// <summary>The caller did not prove who it is.</summary>
    Unauthenticated = 16,
}
