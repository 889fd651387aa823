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

/// <summary>Maps status codes to DCE/RPC faults, HTTP statuses and PowerShell's error categories.</summary>
public static class RpcStatusTable
{
    // The status, the fault that a server sends, the HTTP status, and PowerShell's ErrorCategory.
    private static readonly (RpcStatusCode Code, uint Fault, int Http, string Category)[] Rows =
    [
        (RpcStatusCode.OK, 0, 200, "NotSpecified"),
        (RpcStatusCode.Cancelled, 0x1C00000D, 499, "OperationStopped"),
        (RpcStatusCode.Unknown, 0x1C000012, 500, "NotSpecified"),
        (RpcStatusCode.InvalidArgument, 0x000006F7, 400, "InvalidArgument"),
        (RpcStatusCode.DeadlineExceeded, 0x1C00000D, 504, "OperationTimeout"),
        (RpcStatusCode.NotFound, 0x1C000012, 404, "ObjectNotFound"),
        (RpcStatusCode.AlreadyExists, 0x1C000012, 409, "ResourceExists"),
        (RpcStatusCode.PermissionDenied, 0x00000005, 403, "PermissionDenied"),
        (RpcStatusCode.ResourceExhausted, 0x1C010014, 429, "LimitsExceeded"),
        (RpcStatusCode.FailedPrecondition, 0x1C000012, 400, "InvalidOperation"),
        (RpcStatusCode.Aborted, 0x1C000012, 409, "OperationStopped"),
        (RpcStatusCode.OutOfRange, 0x1C000012, 400, "LimitsExceeded"),
        (RpcStatusCode.Unimplemented, 0x1C010002, 501, "NotImplemented"),
        (RpcStatusCode.Internal, 0x1C01000B, 500, "ProtocolError"),
        (RpcStatusCode.Unavailable, 0x1C010003, 503, "ResourceUnavailable"),
        (RpcStatusCode.DataLoss, 0x1C00001F, 500, "InvalidData"),
        (RpcStatusCode.Unauthenticated, 0x1C00001D, 401, "AuthenticationError"),
    ];

    // The statuses and meanings of faults and return codes of peers (C706 appendix E, [MS-RPCE] 2.2.2.11,
    // [MS-ERREF] 2.2). Small numbers are Win32 error codes.
    private static readonly Dictionary<uint, (RpcStatusCode Code, string Meaning)> Faults = new()
    {
        [0x00000005] = (RpcStatusCode.PermissionDenied, "access denied"),
        [0x0000000E] = (RpcStatusCode.ResourceExhausted, "out of memory"),
        [0x0000046A] = (RpcStatusCode.ResourceExhausted, "the reply is larger than the server's limit"),
        [0x000006B3] = (RpcStatusCode.Unavailable, "the server is not listening for this interface"),
        [0x000006B5] = (RpcStatusCode.Unimplemented, "the interface is not served"),
        [0x000006BA] = (RpcStatusCode.Unavailable, "the server is not available"),
        [0x000006BB] =
            (RpcStatusCode.ResourceExhausted, "the server is too busy, or the request is over its limit"),
        [0x000006BE] = (RpcStatusCode.Unknown, "the call failed"),
        [0x000006BF] = (RpcStatusCode.Unavailable, "the call failed and did not run"),
        [0x000006D1] = (RpcStatusCode.Unimplemented, "the interface has no such operation"),
        [0x000006F7] = (RpcStatusCode.InvalidArgument, "bad stub data"),
        [0x0000071A] = (RpcStatusCode.Cancelled, "the call was cancelled"),
        [0x0000071D] =
            (RpcStatusCode.Unauthenticated, "the protection level is too low, or not supported"),
        [0x1C010002] = (RpcStatusCode.Unimplemented, "the interface has no such operation"),
        [0x1C010003] = (RpcStatusCode.Unimplemented, "the interface is not served"),
        [0x1C01000B] = (RpcStatusCode.Internal, "protocol error"),
        [0x1C010013] = (RpcStatusCode.ResourceExhausted, "the reply is larger than the server's limit"),
        [0x1C010014] = (RpcStatusCode.ResourceExhausted, "the server is too busy"),
        [0x1C00000D] = (RpcStatusCode.Cancelled, "the call was cancelled"),
        [0x1C000012] = (RpcStatusCode.Unknown, "unspecified fault"),
        [0x1C00001B] = (
            RpcStatusCode.ResourceExhausted,
            "the request is larger than the server's limit (MaxMessageBytes of the server), or the server is "
            + "out of memory"),
        [0x1C00001C] = (RpcStatusCode.Internal, "invalid presentation context"),
        [0x1C00001D] = (RpcStatusCode.Unauthenticated, "the protection level is too low, or not supported"),
        [0x1C00001F] = (RpcStatusCode.DataLoss, "a signature is wrong"),
        [0x80004005] = (RpcStatusCode.Unknown, "the handler failed"),
    };

    /// <summary>The DCE/RPC fault that a server sends for a status.</summary>
    public static uint FaultOf(RpcStatusCode code) => Row(code).Fault;

    /// <summary>The HTTP status for a status.</summary>
    public static int HttpStatusOf(RpcStatusCode code) => Row(code).Http;

    /// <summary>The status for an HTTP status that does not come from ProtoRpc.</summary>
    public static RpcStatusCode OfHttpStatus(int status) => status switch
    {
        404 or 405 or 406 or 415 => RpcStatusCode.Unimplemented,
        408 => RpcStatusCode.DeadlineExceeded,
        413 or 414 or 431 => RpcStatusCode.ResourceExhausted,
        500 => RpcStatusCode.Unknown,
        502 => RpcStatusCode.Unavailable,
        _ when Rows.FirstOrDefault(row => row.Http == status) is { Http: > 0 } row => row.Code,
        >= 400 and < 500 => RpcStatusCode.InvalidArgument,
        _ => RpcStatusCode.Unknown,
    };

    /// <summary>The name of the <c>System.Management.Automation.ErrorCategory</c> for a status.</summary>
    public static string CategoryOf(RpcStatusCode code) => Row(code).Category;

    /// <summary>The meaning of a DCE/RPC fault, or of a return code other than 0.</summary>
    public static (RpcStatusCode Code, string Meaning) OfNativeStatus(uint status) =>
        Faults.TryGetValue(status, out (RpcStatusCode, string) row)
            ? row
            : (RpcStatusCode.Unknown, "unknown status");

    private static (RpcStatusCode Code, uint Fault, int Http, string Category) Row(RpcStatusCode code) =>
        (int)code >= 0 && (int)code < Rows.Length
            ? Rows[(int)code]
            : throw new ArgumentOutOfRangeException(
                nameof(code), code, "A status code is a number from 0 to 16.");
}
