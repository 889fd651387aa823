using System.Globalization;
using System.Reflection;
using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>about_ProtoRpc_Limits names every limit, with its default.</summary>
public static partial class LimitsPageTests
{
    [Fact]
    public static void The_page_and_the_type_have_the_same_limits_with_the_same_defaults()
    {
        Dictionary<string, string> rows = Row().Matches(
                File.ReadAllText(Path.Combine(Repository.Root, "docs", "en-US", "about_ProtoRpc_Limits.md")))
            .ToDictionary(row => row.Groups["name"].Value, row => row.Groups["value"].Value);
        Dictionary<string, string> defaults = typeof(RpcLimits)
            .GetProperties(BindingFlags.Public | BindingFlags.Instance)
            .ToDictionary(limit => limit.Name, limit => Text(limit.Name, limit.GetValue(RpcLimits.Default)!));

        Assert.Equal(defaults.Keys.Order(), rows.Keys.Order());
        Assert.All(
            defaults, limit => Assert.Equal($"{limit.Key} {limit.Value}", $"{limit.Key} {rows[limit.Key]}"));
    }

    private static string Text(string name, object value) => value switch
    {
        TimeSpan time when time == Timeout.InfiniteTimeSpan => "none",
        TimeSpan time when time.TotalMinutes >= 1 => Plural(time.TotalMinutes, "minute"),
        TimeSpan time => Plural(time.TotalSeconds, "second"),
        int.MaxValue => "2 GiB less one",
        _ when name.Contains("Bytes", StringComparison.Ordinal) || name == "MultiPartThreshold" =>
            Bytes(Convert.ToInt64(value, CultureInfo.InvariantCulture)),
        _ => string.Create(CultureInfo.InvariantCulture, $"{value:N0}"),
    };

    private static string Plural(double count, string unit) =>
        string.Create(CultureInfo.InvariantCulture, $"{count} {unit}{(count == 1 ? "" : "s")}");

    private static string Bytes(long count)
    {
        foreach ((string unit, int shift) in new[] { ("GiB", 30), ("MiB", 20), ("KiB", 10) })
        {
            if (count % (1L << shift) == 0)
            {
                return string.Create(CultureInfo.InvariantCulture, $"{count >> shift:N0} {unit}");
            }
        }

        return string.Create(CultureInfo.InvariantCulture, $"{count:N0}");
    }

    [GeneratedRegex(@"^\| (?<name>[A-Z]\w+) \| (?<value>[^|]+) \|", RegexOptions.Multiline)]
    private static partial Regex Row();
}
