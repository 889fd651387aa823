using System.Globalization;
using System.Reflection;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>The settings of a type that hashtables can set. The shell itself would read a number as ticks of
/// a time, and a text such as <c>30</c> as days.</summary>
/// <param name="type">The type. Its settings may be init-only, which only C# enforces.</param>
/// <param name="kind">The noun for one of the settings, for errors.</param>
/// <param name="of">The object that the settings belong to, for errors.</param>
/// <param name="page">The page that lists the settings; null to list them in the error.</param>
/// <param name="except">A setting that hashtables do not have; null for none.</param>
internal sealed class SettingTable(
    Type type, string kind, string of, string? page = null, string? except = null)
{
    /// <summary>The settings by their names.</summary>
    public Dictionary<string, PropertyInfo> Known { get; } = type
        .GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
        .Where(property => property.Name != except)
        .ToDictionary(property => property.Name, StringComparer.OrdinalIgnoreCase);

    /// <summary>Sets the settings of an object to the values of a hashtable.</summary>
    /// <param name="table">The hashtable.</param>
    /// <param name="target">The object.</param>
    /// <param name="read">Converts the value of a setting.</param>
    /// <exception cref="ArgumentTransformationMetadataException">A name or a value is wrong.</exception>
    public void Apply(IDictionary table, object target, Func<PropertyInfo, object?, object> read)
    {
        foreach (DictionaryEntry entry in table)
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            PropertyInfo setting = Known.GetValueOrDefault(name)
                ?? throw new ArgumentTransformationMetadataException(
                    $"'{TerminalText.Neutralize(name)}' is not {kind}.{NearestName.Hint(name, Known.Keys)} "
                    + (page is null
                        ? $"The settings are {string.Join(", ", Known.Keys)}."
                        : $"{page} lists the names."));
            try
            {
                setting.SetValue(target, read(setting, entry.Value));
            }
            catch (Exception e) when (e is RuntimeException or InvalidCastException)
            {
                throw new ArgumentTransformationMetadataException($"{setting.Name} of {of}: {e.Message}");
            }
        }
    }

    /// <summary>Runs the check of an object of the type. Its error names a setting as the user writes
    /// it.</summary>
    /// <exception cref="ArgumentTransformationMetadataException">A value is wrong.</exception>
    public void Check(Action check)
    {
        try
        {
            check();
        }
        catch (RpcException e)
        {
            string member = $"{type.Name}.";
            throw new ArgumentTransformationMetadataException(MemberTexts.Rename(
                e.Message, name => name.StartsWith(member, StringComparison.Ordinal)
                    ? $"{name[member.Length..]} of {of}"
                    : null));
        }
    }

    /// <summary>Converts the value of a setting: times as in parameters, others as the shell does, by the
    /// invariant culture.</summary>
    public static object Read(PropertyInfo setting, object? value) =>
        setting.PropertyType == typeof(TimeSpan)
            ? DeadlineAttribute.Read(value, allowZero: true)
            : LanguagePrimitives.ConvertTo(value, setting.PropertyType, CultureInfo.InvariantCulture);
}
