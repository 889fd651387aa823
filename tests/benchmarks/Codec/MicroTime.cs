namespace ProtoRpc.Benchmarks.Codec;

/// <summary>How long one operation takes, in microseconds, and what it allocates.</summary>
/// <param name="Best">The fastest turn.</param>
/// <param name="Usual">What a tenth of the turns kept: what is above it, other programs took.</param>
/// <param name="Median">What half of the turns kept.</param>
/// <param name="Allocated">Bytes.</param>
internal sealed record MicroTime(double Best, double Usual, double Median, long Allocated);
