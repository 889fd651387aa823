namespace ProtoRpc;

/// <summary>What was sent or received: a PDU, the head of an HTTP message, or a frame of gRPC.</summary>
/// <remarks>Never has passwords, tokens, cookies or the contents of messages.</remarks>
/// <param name="Time">When, in UTC.</param>
/// <param name="IsSent">Whether it was sent, and not received.</param>
/// <param name="Endpoint">The endpoint of the client or of the listener.</param>
/// <param name="Text">What it was, in one line without control characters.</param>
public sealed record RpcTraceEntry(DateTimeOffset Time, bool IsSent, RpcEndpoint Endpoint, string Text)
{
    /// <summary>The entry as one line.</summary>
    public override string ToString() =>
        FormattableString.Invariant($"{Time:HH:mm:ss.ffffff} {(IsSent ? "->" : "<-")} {Endpoint} {Text}");
}
