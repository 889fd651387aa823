using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Reflection;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace ProtoRpc.Hosting.Application;

/// <summary>Reads a section of the configuration into properties. A key that is no setting, or a value that
/// does not fit, is an error with the path of the key.</summary>
internal static class SectionReader
{
    private const BindingFlags Settable = BindingFlags.Public | BindingFlags.Instance;

    /// <summary>Sets the properties of an object that the section names.</summary>
    /// <param name="section">The section.</param>
    /// <param name="target">A private copy: init-only properties are also set.</param>
    /// <param name="others">Keys of the section that are read elsewhere.</param>
    /// <exception cref="OptionsValidationException">A key or a value that cannot be used.</exception>
    public static void Read<[DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicProperties)] T>(
        IConfiguration section, T target, params ReadOnlySpan<string> others)
        where T : class
    {
        PropertyInfo[] properties =
            [.. typeof(T).GetProperties(Settable).Where(p => p.CanWrite && IsRead(p.PropertyType))];
        foreach (IConfigurationSection entry in section.GetChildren())
        {
            if (others.Contains(entry.Key, StringComparer.OrdinalIgnoreCase))
            {
                continue;
            }

            PropertyInfo property = properties.FirstOrDefault(
                p => p.Name.Equals(entry.Key, StringComparison.OrdinalIgnoreCase))
                ?? throw Unknown(entry, [.. properties.Select(p => p.Name), .. others]);
            property.SetValue(target, ValueOf(entry, property.PropertyType));
        }
    }

    /// <summary>The texts of a list, or a single one.</summary>
    public static string[] ListOf(IConfigurationSection section) => section.Value is { Length: > 0 } only
        ? [only]
        : [.. section.GetChildren().Select(child => child.Value
            ?? throw Invalid(child.Path, "it is a section; write a single value"))];

    /// <summary>The text of a key.</summary>
    public static string? TextOf(IConfigurationSection section) => section.GetChildren().Any()
        ? throw Invalid(section.Path, "it is a section; write a single value")
        : section.Value;

    /// <summary>Reads a time, if the setting exists.</summary>
    public static void ReadTime(IConfigurationSection section, Action<TimeSpan> set)
    {
        if (section.Value is not null)
        {
            set((TimeSpan)ValueOf(section, typeof(TimeSpan))!);
        }
    }

    public static OptionsValidationException Invalid(string path, string what) =>
        new(Options.DefaultName, typeof(RpcHostOptions), [$"The setting '{path}' cannot be used: {what}."]);

    public static OptionsValidationException Unknown(
        IConfigurationSection entry, IEnumerable<string> known) => Invalid(
        entry.Path,
        "there is no such setting. Its section has "
        + string.Join(", ", known.Order(StringComparer.Ordinal)));

    private static bool IsRead(Type type)
    {
        Type bare = Nullable.GetUnderlyingType(type) ?? type;
        return bare == typeof(string) || bare == typeof(bool) || bare == typeof(int) || bare == typeof(long)
            || bare == typeof(TimeSpan) || bare.IsEnum || bare == typeof(IReadOnlyList<string>);
    }

    private static object? ValueOf(IConfigurationSection entry, Type type)
    {
        if (type == typeof(IReadOnlyList<string>))
        {
            return ListOf(entry);
        }

        Type bare = Nullable.GetUnderlyingType(type) ?? type;
        string? text = TextOf(entry)?.Trim();
        if (bare == typeof(string) || (string.IsNullOrEmpty(text) && bare != type))
        {
            return string.IsNullOrEmpty(text) ? null : text;
        }

        return Parse(bare, text ?? "")
            ?? throw Invalid(entry.Path, $"'{TerminalText.Neutralize(text ?? "")}' is not {Wanted(bare)}");
    }

    private static object? Parse(Type type, string text)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        if (type == typeof(bool))
        {
            return bool.TryParse(text, out bool flag) ? flag : null;
        }

        if (type == typeof(int))
        {
            return int.TryParse(text, NumberStyles.None, culture, out int number) ? number : null;
        }

        if (type == typeof(long))
        {
            return long.TryParse(text, NumberStyles.None, culture, out long number) ? number : null;
        }

        if (type == typeof(TimeSpan))
        {
            return text.Equals("Infinite", StringComparison.OrdinalIgnoreCase) ? Timeout.InfiniteTimeSpan
                : TimeSpan.TryParse(text, culture, out TimeSpan time) && time >= TimeSpan.Zero ? time
                : null;
        }

        // Numbers are no names.
        return !text.Any(char.IsAsciiDigit) && Enum.TryParse(type, text, ignoreCase: true, out object? value)
            ? value
            : null;
    }

    private static string Wanted(Type type) =>
        type == typeof(bool) ? "true or false"
        : type == typeof(int) ? $"a whole number from 0 to {int.MaxValue}"
        : type == typeof(long) ? $"a whole number from 0 to {long.MaxValue}"
        : type == typeof(TimeSpan) ? "a time such as 00:00:30 (hours, minutes, seconds), or Infinite"
        : $"one of {string.Join(", ", Enum.GetNames(type))}";
}
