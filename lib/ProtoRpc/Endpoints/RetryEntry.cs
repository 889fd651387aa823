using System.Text.Json.Nodes;

namespace ProtoRpc.Endpoints;

/// <summary>The retry policy of a named endpoint as JSON: <c>"retryCount": 3</c> if only the number of
/// retries is set, otherwise <c>"retry": { "count": 3, "statusCodes": ["Unavailable"] }</c> with the
/// settings that differ from the defaults. Times are numbers of seconds.</summary>
internal static class RetryEntry
{
    /// <summary>The key for the number of retries without further settings.</summary>
    public const string CountKey = "retryCount";

    /// <summary>The key of the policy.</summary>
    public const string Key = "retry";

    // The settings in the file, and how each is written and read.
    private static readonly Setting[] Settings =
    [
        Value<int>("count", policy => policy.Count, (policy, value) => policy with { Count = value }),
        new("statusCodes", CodesOf, (policy, node) => policy with { StatusCodes = Codes(node) }),
        Value<bool>(
            "idempotent", policy => policy.Idempotent, (policy, value) => policy with { Idempotent = value }),
        Time(
            "initialPause", policy => policy.InitialPause,
            (policy, time) => policy with { InitialPause = time }),
        Time("maxPause", policy => policy.MaxPause, (policy, time) => policy with { MaxPause = time }),
        Value<double>(
            "multiplier", policy => policy.Multiplier, (policy, value) => policy with { Multiplier = value }),
        Value<double>("jitter", policy => policy.Jitter, (policy, value) => policy with { Jitter = value }),
        Time(
            "maxServerPause", policy => policy.MaxServerPause,
            (policy, time) => policy with { MaxServerPause = time }),
        Value<int>(
            "maxTokens", policy => policy.MaxTokens, (policy, value) => policy with { MaxTokens = value }),
        Value<double>(
            "tokenRatio", policy => policy.TokenRatio, (policy, value) => policy with { TokenRatio = value }),
    ];

    /// <summary>Reads the policy of an entry.</summary>
    /// <exception cref="FormatException">It is malformed.</exception>
    /// <exception cref="RpcException">InvalidArgument: a setting is out of its range.</exception>
    public static RpcRetryPolicy? Read(JsonObject entry)
    {
        RpcRetryPolicy? policy = entry[Key] is { } node ? ReadAll(node)
            : entry[CountKey] is { } count ? new() { Count = ReadCount(count) }
            : null;
        policy?.Check();
        return policy;
    }

    /// <summary>The number, if the policy sets nothing else.</summary>
    public static JsonNode? CountOf(RpcRetryPolicy? policy) =>
        policy is { IsOnlyCount: true } ? JsonValue.Create(policy.Count) : null;

    /// <summary>The policy, if it sets more than the number.</summary>
    public static JsonNode? Write(RpcRetryPolicy? policy)
    {
        if (policy is null or { IsOnlyCount: true })
        {
            return null;
        }

        JsonObject entry = [];
        foreach (Setting setting in Settings)
        {
            JsonNode value = setting.Write(policy);
            if (!JsonNode.DeepEquals(value, setting.Write(RpcRetryPolicy.Default)))
            {
                entry[setting.Key] = value;
            }
        }

        return entry;
    }

    private static RpcRetryPolicy ReadAll(JsonNode node)
    {
        if (node is not JsonObject entry)
        {
            throw new FormatException($"'{Key}' is not an object");
        }

        RpcRetryPolicy policy = new();
        foreach ((string key, JsonNode? value) in entry)
        {
            Setting setting = Array.Find(Settings, setting => setting.Key == key)
                ?? throw new FormatException(
                    $"'{Key}' has no setting '{key}', only {string.Join(", ", Settings.Select(s => s.Key))}");
            try
            {
                policy = setting.Read(policy, value);
            }
            catch (Exception e)
                when (e is InvalidOperationException or OverflowException or ArgumentException)
            {
                throw new FormatException($"'{key}' of '{Key}' has a wrong value", e);
            }
        }

        return policy;
    }

    private static int ReadCount(JsonNode node) =>
        node is JsonValue value && value.TryGetValue(out int count) && count is >= 0 and <= 100
            ? count
            : throw new FormatException($"'{CountKey}' is not a number in 0..100");

    private static Setting Value<T>(
        string key, Func<RpcRetryPolicy, JsonNode> write, Func<RpcRetryPolicy, T, RpcRetryPolicy> set)
        where T : struct =>
        new(key, write, (policy, node) => set(policy, ValueOf<T>(node)));

    private static Setting Time(
        string key, Func<RpcRetryPolicy, TimeSpan> get, Func<RpcRetryPolicy, TimeSpan, RpcRetryPolicy> set) =>
        Value<double>(
            key, policy => get(policy).TotalSeconds,
            (policy, seconds) => set(policy, TimeSpan.FromSeconds(seconds)));

    private static T ValueOf<T>(JsonNode? node) => node is JsonValue value && value.TryGetValue(out T? result)
        ? result
        : throw new InvalidOperationException();

    private static JsonArray CodesOf(RpcRetryPolicy policy) =>
        [.. policy.StatusCodes.Select(code => (JsonNode?)code.ToString())];

    private static RpcStatusCode[] Codes(JsonNode? node) => node is JsonArray list
        ? [.. list.SelectMany(item => Names(ValueOf<string>(item)))]
        : Names(ValueOf<string>(node));

    private static RpcStatusCode[] Names(string text) =>
        RpcRetryPolicy.ReadStatusCodes(text) ?? throw new ArgumentException(text);

    private sealed record Setting(
        string Key, Func<RpcRetryPolicy, JsonNode> Write,
        Func<RpcRetryPolicy, JsonNode?, RpcRetryPolicy> Read);
}
