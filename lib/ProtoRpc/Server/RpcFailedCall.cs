namespace ProtoRpc;

/// <summary>A failed call, for the server's log.</summary>
/// <param name="Error">The exception, with details that must not be sent to the caller.</param>
/// <param name="Code">The status that the caller receives.</param>
/// <param name="CorrelationId">The id that the caller receives instead of the exception's text; null if the
/// text was written for the caller.</param>
/// <param name="Context">The context of the call; null if it failed before its method was known. Valid until
/// the callback returns.</param>
public sealed record RpcFailedCall(
    Exception Error, RpcStatusCode Code, string? CorrelationId, RpcServerCallContext? Context);
