using System.Globalization;

namespace ProtoRpc;

/// <summary>Which failed calls a client retries, how often, and after which pauses. The deadline of a call is
/// one for all its attempts and pauses.</summary>
/// <remarks>A call that certainly did not run is retried: its server was unreachable, or rejected it before
/// it ran. A call that may have run (<see cref="RpcException.MayHaveExecuted"/>) is only retried if <see
/// cref="StatusCodes"/> names its status, or if the method is idempotent and the server says when to call
/// again. A stream of replies is retried until its first reply, and a stream of requests never.
/// <para>Servers say when to call again with <c>grpc-retry-pushback-ms</c> (gRFC A6), or with
/// <c>Retry-After</c> and HTTP status 429 or 503 (RFC 9110, section 10.2.3). The pause that a server asks for
/// replaces the policy's own; if the call did not run, the longer one counts. A negative or malformed
/// pushback stops the retries.</para></remarks>
/// <example><code>
/// RpcRetryPolicy retry = new()
/// {
///     Count = 4,
///     InitialPause = TimeSpan.FromMilliseconds(100),
///     StatusCodes = [RpcStatusCode.Unavailable, RpcStatusCode.Aborted],
///     Idempotent = true,
/// };
/// await using RpcClient client = await RpcClient.ConnectAsync(
///     "grpc://127.0.0.1:50051", new() { Retry = retry });
/// </code></example>
public sealed record RpcRetryPolicy
{
    private const int MaxCount = 100;
    private const int MostTokens = 1000;
    private const double MaxMultiplier = 100;
    private const double LeastRatio = 0.001;

    private static readonly TimeSpan Longest = TimeSpan.FromDays(1);

    /// <summary>The number of retries after the first attempt, 0 to 100: 3. gRPC's <c>maxAttempts</c> is one
    /// more. Connecting is retried as often.</summary>
    public int Count { get; init; } = 3;

    /// <summary>The statuses of calls that are retried although they may have run, such as
    /// <see cref="RpcStatusCode.Unavailable"/>: none. These are gRPC's <c>retryableStatusCodes</c>. Name
    /// a status only if the called methods can run twice. With Unavailable, calls whose connection breaks are
    /// retried.</summary>
    public IReadOnlyList<RpcStatusCode> StatusCodes { get; init; } = [];

    /// <summary>Whether the called methods can run twice with the same result: false. Otherwise only methods
    /// whose .proto declares the <c>idempotency_level</c> NO_SIDE_EFFECTS or IDEMPOTENT.</summary>
    public bool Idempotent { get; init; }

    /// <summary>The pause before the first retry, up to one day: 0.1 seconds.</summary>
    public TimeSpan InitialPause { get; init; } = TimeSpan.FromSeconds(0.1);

    /// <summary>The longest pause of the policy, before <see cref="Jitter"/>, up to one day: 5
    /// seconds.</summary>
    public TimeSpan MaxPause { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>How much longer each pause is than the one before, 1 to 100: 2.</summary>
    public double Multiplier { get; init; } = 2;

    /// <summary>How much a pause varies at random, 0 to 1: 0.2, which is 20 percent more or less, as in gRPC.
    /// Clients that failed together then do not retry together. Pauses that a server asks for only get
    /// longer.</summary>
    public double Jitter { get; init; } = 0.2;

    /// <summary>The longest pause that a server can ask for, up to one day: 1 minute. If it asks for more, or
    /// for more than the time that is left, the call fails immediately.</summary>
    public TimeSpan MaxServerPause { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>The size of the retry budget, 0 to 1,000 tokens: 100. All calls of a client share one budget.
    /// A failed attempt takes a token, and a call that succeeds adds <see cref="TokenRatio"/>. While at most
    /// half of the tokens are left, calls are not retried (gRFC A6, retryThrottling). 0 for no budget.
    /// Connecting and waiting for an unreachable server take no tokens. Only the policy of the client sets
    /// the budget, not the policy of a call.</summary>
    public int MaxTokens { get; init; } = 100;

    /// <summary>The tokens that a call adds to the budget if it succeeds, 0.001 to 1,000: 0.1. Further
    /// decimals are ignored.</summary>
    public double TokenRatio { get; init; } = 0.1;

    /// <summary>The settings that differ from the defaults, as text; only the number if no other setting
    /// differs.</summary>
    public override string ToString()
    {
        List<string> parts = [];
        Add(parts, nameof(StatusCodes), string.Join(", ", StatusCodes), "");
        Add(parts, nameof(Idempotent), Idempotent, false);
        Add(parts, nameof(InitialPause), InitialPause, Default.InitialPause);
        Add(parts, nameof(MaxPause), MaxPause, Default.MaxPause);
        Add(parts, nameof(Multiplier), Multiplier, Default.Multiplier);
        Add(parts, nameof(Jitter), Jitter, Default.Jitter);
        Add(parts, nameof(MaxServerPause), MaxServerPause, Default.MaxServerPause);
        Add(parts, nameof(MaxTokens), MaxTokens, Default.MaxTokens);
        Add(parts, nameof(TokenRatio), TokenRatio, Default.TokenRatio);
        string count = Count.ToString(CultureInfo.InvariantCulture);
        return parts.Count == 0 ? count : string.Join("; ", parts.Prepend($"{nameof(Count)} = {count}"));
    }

    /// <summary>Whether another policy has the same settings.</summary>
    public bool Equals(RpcRetryPolicy? other) => other is not null && ToString() == other.ToString();

    /// <inheritdoc/>
    public override int GetHashCode() => StringComparer.Ordinal.GetHashCode(ToString());

    /// <summary>The policy of calls for which only the number of retries is set. Never given away, because
    /// PowerShell and the binder of configurations also write init-only properties.</summary>
    internal static RpcRetryPolicy Default { get; } = new();

    /// <summary>The names of the statuses that a failed call can have.</summary>
    internal static IEnumerable<string> StatusNames =>
        Enum.GetNames<RpcStatusCode>().Where(name => name != nameof(RpcStatusCode.OK));

    /// <summary>Reads the names of statuses, separated by commas, as .NET or gRPC writes them:
    /// <c>ResourceExhausted</c>, <c>RESOURCE_EXHAUSTED</c>.</summary>
    /// <returns>Null if a name is not the status of a failed call.</returns>
    internal static RpcStatusCode[]? ReadStatusCodes(string text)
    {
        List<RpcStatusCode> codes = [];
        foreach (string part in text.Split(',', StringSplitOptions.TrimEntries))
        {
            string name = part.Replace("_", "", StringComparison.Ordinal);
            if (name.Length == 0 || !char.IsAsciiLetter(name[0])
                || !Enum.TryParse(name, ignoreCase: true, out RpcStatusCode code) || code == RpcStatusCode.OK)
            {
                return null;
            }

            codes.Add(code);
        }

        return [.. codes];
    }

    /// <summary>Whether all settings except the number are the defaults.</summary>
    internal bool IsOnlyCount => Equals(Default with { Count = Count });

    /// <summary>A copy that does not change with this policy.</summary>
    internal RpcRetryPolicy Copy() => this with { StatusCodes = [.. StatusCodes] };

    /// <exception cref="RpcException">InvalidArgument: a setting is out of its range.</exception>
    internal void Check()
    {
        Require(nameof(Count), Count, 0, MaxCount);
        Require(nameof(InitialPause), InitialPause, TimeSpan.Zero, Longest);
        Require(nameof(MaxPause), MaxPause, TimeSpan.Zero, Longest);
        Require(nameof(MaxServerPause), MaxServerPause, TimeSpan.Zero, Longest);
        Require(nameof(Multiplier), Multiplier, 1, MaxMultiplier);
        Require(nameof(Jitter), Jitter, 0, 1);
        Require(nameof(MaxTokens), MaxTokens, 0, MostTokens);
        Require(nameof(TokenRatio), TokenRatio, LeastRatio, MostTokens);
        foreach (RpcStatusCode code in StatusCodes)
        {
            if (code == RpcStatusCode.OK || !Enum.IsDefined(code))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"{nameof(RpcRetryPolicy)}.{nameof(StatusCodes)} contains {code}, which is not the "
                    + "status of a failed call. Name statuses such as Unavailable.");
            }
        }
    }

    private static void Add<T>(List<string> parts, string name, T value, T usual)
        where T : notnull
    {
        if (!value.Equals(usual))
        {
            parts.Add(string.Create(CultureInfo.InvariantCulture, $"{name} = {value}"));
        }
    }

    // NaN compares as less than all numbers, so it is checked separately.
    private static void Require<T>(string name, T value, T least, T most)
        where T : IComparable<T>
    {
        if (value is double.NaN || value.CompareTo(least) < 0 || value.CompareTo(most) > 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"{nameof(RpcRetryPolicy)}.{name} is {value}; it must be from {least} to {most}."));
        }
    }
}
