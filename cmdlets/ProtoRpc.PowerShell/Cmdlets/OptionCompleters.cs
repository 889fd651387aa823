using System.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Offers the settings of a connection in a hashtable.</summary>
internal sealed class ConnectionOptionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => [OptionShape.Empty];

    internal override HashtableShape? TableOf(IDictionary bound) =>
        new OptionShape(typeof(RpcConnectionOption), bound);
}

/// <summary>Offers the limits in a hashtable.</summary>
internal sealed class LimitsCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => [OptionShape.Empty];

    internal override HashtableShape? TableOf(IDictionary bound) => new OptionShape(typeof(RpcLimits), bound);
}

/// <summary>Offers a number of retries, and the settings of a retry policy in a hashtable.</summary>
internal sealed class RetryCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        Candidate.OfScript("3", "The number of retries of calls that certainly did not run"),
        Candidate.OfScript(
            "@{ Count = 3; StatusCodes = 'Unavailable' }",
            "Also retries calls that may have run, if they fail with this status"),
        OptionShape.Empty,
    ];

    internal override HashtableShape? TableOf(IDictionary bound) =>
        new OptionShape(typeof(RpcRetryPolicy), bound);
}

/// <summary>Offers the settings of random messages in a hashtable.</summary>
internal sealed class RandomMessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => [OptionShape.Empty];

    internal override HashtableShape? TableOf(IDictionary bound) => new OptionShape(
        typeof(RpcRandomMessageOptions), bound, RandomMessageTableAttribute.Settings.Known.Keys);
}

/// <summary>The keys and values of a hashtable of settings: those that the parameters of the cmdlet take that
/// makes the object.</summary>
/// <param name="option">The type of the object.</param>
/// <param name="bound">The other arguments of the command line.</param>
/// <param name="supported">The settings that the cmdlet supports; null for all.</param>
internal sealed class OptionShape(
    Type option, IDictionary bound, IReadOnlyCollection<string>? supported = null) : HashtableShape
{
    /// <summary>A hashtable to begin with.</summary>
    public static RpcCompleter.Candidate Empty { get; } =
        RpcCompleter.Candidate.OfScript("@{ }", "A hashtable of settings");

    public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => option
        .GetProperties(RpcOption.Settings)
        .Where(setting => supported?.Contains(setting.Name) != false
            && !given.Contains(setting.Name, StringComparer.OrdinalIgnoreCase))
        .OrderBy(setting => setting.Name, StringComparer.Ordinal)
        .Select(setting => new HashtableKey(setting.Name, TypeOf(setting).Name, ""));

    public override HashtableShape? Inside(string key) => CompleterOf(key)?.TableOf(bound);

    public override IEnumerable<HashtableValue> Values(string key)
    {
        if (option.GetProperty(key, RpcOption.Settings) is not { } setting)
        {
            return [];
        }

        // A hashtable is completed inside of its braces.
        RpcCompleter? completer = CompleterOf(key);
        return completer is null
            ? ValuesOf(setting).Select(value => new HashtableValue(value, TypeOf(setting).Name, ""))
            : completer.TableOf(bound) is not null ? []
            : completer.Candidates(bound)
                .Select(candidate => new HashtableValue(candidate.Name, candidate.ToolTip, ""));
    }

    private RpcCompleter? CompleterOf(string key) =>
        option.GetProperty(key, RpcOption.Settings)?.GetCustomAttribute<ArgumentCompleterAttribute>()?.Type
            is { } type
            ? (RpcCompleter)Activator.CreateInstance(type)!
            : null;

    private static IEnumerable<object> ValuesOf(PropertyInfo setting) =>
        setting.GetCustomAttribute<ValidateSetAttribute>() is { } set ? set.ValidValues
        : TypeOf(setting) is { IsEnum: true } type ? Enum.GetNames(type)
        : TypeOf(setting) == typeof(IReadOnlyList<RpcStatusCode>) ? RpcRetryPolicy.StatusNames
        : TypeOf(setting) == typeof(SwitchParameter) || TypeOf(setting) == typeof(bool) ? [true, false]
        : [];

    private static Type TypeOf(PropertyInfo setting) =>
        Nullable.GetUnderlyingType(setting.PropertyType) ?? setting.PropertyType;
}
