namespace ProtoRpc.Fuzz.Engine;

/// <summary>A read allocated more than its input allows.</summary>
internal sealed class MemoryException(long allocated, int length)
    : Exception($"{allocated:N0} bytes were allocated for {length:N0} bytes of input");
