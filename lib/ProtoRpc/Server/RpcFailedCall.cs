namespace ProtoRpc;

/// <summary>A call that failed on the server, for its log.</summary>
/// <param name="Error">The exception, with details that must not be sent to the caller.</param>
/// <param name="Code">The status that the caller gets.</param>
/// <param name="CorrelationId">The id that the caller gets in place of the exception's text; null where the
/// text was written for the caller.</param>
/// <param name="Context">The call; null for one that failed before its method was known. Valid until the
/// callback returns.</param>
public sealed record RpcFailedCall(
    Exception Error, RpcStatusCode Code, string? CorrelationId, RpcServerCallContext? Context);
