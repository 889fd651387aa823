namespace ProtoRpc.Interop;

/// <summary>What a client of the original makes of a reply.</summary>
internal sealed record OldReply(bool Success, byte[]? Exception, byte[] Body);
