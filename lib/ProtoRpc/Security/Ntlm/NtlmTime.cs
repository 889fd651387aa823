namespace ProtoRpc.Security.Ntlm;

/// <summary>The times of NTLM: 100 nanoseconds since 1601, of which a peer can send any 64 bits.</summary>
internal static class NtlmTime
{
    private static readonly long Latest = DateTimeOffset.MaxValue.ToFileTime();

    public static DateTimeOffset ToDateTime(long time) =>
        DateTimeOffset.FromFileTime(Math.Clamp(time, 0, Latest));

    public static long FromDateTime(DateTimeOffset time) => time.ToFileTime();
}
