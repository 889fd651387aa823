namespace ProtoRpc.Server.Recording;

/// <summary>What is kept of one call, in each direction.</summary>
/// <param name="MaxMessages">The most messages of a stream.</param>
/// <param name="MaxBytes">The most bytes of all messages.</param>
internal sealed record RecordingLimits(int MaxMessages = 10_000, int MaxBytes = 16 * 1024 * 1024);
