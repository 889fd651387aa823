namespace ProtoRpc.Security.Spnego;

/// <summary>The negState of a response (RFC 4178 section 4.2.2).</summary>
internal enum SpnegoState
{
    AcceptCompleted = 0,
    AcceptIncomplete = 1,
    Reject = 2,
    RequestMic = 3,
}
