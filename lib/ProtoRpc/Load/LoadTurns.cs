namespace ProtoRpc.Load;

/// <summary>In which order the targets of a test are called.</summary>
internal static class LoadTurns
{
    private const int MinRounds = 4;
    private const int MaxRounds = 100_000;

    // A machine that has other work changes within seconds, and each turn costs a start and an end.
    private static readonly TimeSpan Turn = TimeSpan.FromSeconds(1);

    /// <summary>The number of rounds for measuring each target. A single target is measured in one round,
    /// without interruptions.</summary>
    public static int RoundsOf(RpcLoadOptions options, int targets)
    {
        if (targets == 1)
        {
            return 1;
        }

        double rounds = options.Duration is { } duration
            ? Math.Clamp(Math.Round(duration / Turn), MinRounds, MaxRounds)
            : MinRounds;
        return (int)Math.Min(rounds, options.Count ?? long.MaxValue);
    }

    /// <summary>The targets of a round. Each second round goes backwards: what gets slower with time is so
    /// for all of them.</summary>
    public static IEnumerable<T> InRound<T>(IReadOnlyList<T> targets, int round) =>
        round % 2 == 0 ? targets : targets.Reverse();

    /// <summary>How many calls a part has, so that all parts together have them all.</summary>
    public static long? ShareOf(long? count, int part, int parts) => count is { } all
        ? (long)((Int128)all * (part + 1) / parts) - (long)((Int128)all * part / parts)
        : null;
}
