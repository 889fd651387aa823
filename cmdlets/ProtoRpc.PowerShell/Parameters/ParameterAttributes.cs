using System.Globalization;
using System.Reflection;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

/// <summary>Accepts a number of seconds and text such as <c>50ms</c> for a parameter of type
/// TimeSpan.</summary>
[AttributeUsage(AttributeTargets.Property)]
public sealed class DeadlineAttribute : ArgumentTransformationAttribute
{
    /// <summary>Whether zero is allowed.</summary>
    public bool AllowZero { get; set; }

    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        Read(inputData, AllowZero);

    /// <summary>Reads a time.</summary>
    /// <exception cref="ArgumentTransformationMetadataException">The value is none.</exception>
    internal static TimeSpan Read(object? given, bool allowZero)
    {
        object? value = given is PSObject wrapped ? wrapped.BaseObject : given;
        TimeSpan? time = value switch
        {
            TimeSpan span => span,
            string text => DurationText.TryParse(text),
            null => null,
            _ => DurationText.TryReadSeconds(value, out long seconds, out int nanos)
                ? WellKnownTime.ToTimeSpan(seconds, nanos)
                : null,
        };

        return time is { } read
            && (read > TimeSpan.Zero
                || read == Timeout.InfiniteTimeSpan
                || (allowZero && read == TimeSpan.Zero))
                ? read
                : throw new ArgumentTransformationMetadataException(
                    $"'{TerminalText.Neutralize($"{value}")}' is not a time: give a TimeSpan, "
                    + $"{DurationText.Forms}, or [System.Threading.Timeout]::InfiniteTimeSpan for no limit.");
    }
}

/// <summary>Takes a hashtable for <see cref="RpcLimits"/>. The shell itself would read a number as ticks, and
/// a text such as <c>30</c> as days.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class LimitsTableAttribute : ArgumentTransformationAttribute
{
    /// <summary>The properties of the limits, by their names.</summary>
    internal static Dictionary<string, PropertyInfo> Known { get; } = typeof(RpcLimits)
        .GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
        .ToDictionary(property => property.Name, StringComparer.OrdinalIgnoreCase);

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData)
    {
        if ((inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is not IDictionary table)
        {
            return inputData;
        }

        RpcLimits limits = RpcLimits.Default;
        foreach (DictionaryEntry entry in table)
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            PropertyInfo limit = Known.GetValueOrDefault(name)
                ?? throw new ArgumentTransformationMetadataException(
                    $"'{TerminalText.Neutralize(name)}' is not a limit.{NearestName.Hint(name, Known.Keys)} "
                    + "about_ProtoRpc_Limits lists them.");
            limit.SetValue(limits, Read(limit, entry.Value));
        }

        return limits;
    }

    private static object Read(PropertyInfo limit, object? value)
    {
        try
        {
            return limit.PropertyType == typeof(TimeSpan)
                ? DeadlineAttribute.Read(value, allowZero: true)
                : LanguagePrimitives.ConvertTo(value, limit.PropertyType, CultureInfo.InvariantCulture);
        }
        catch (Exception e) when (e is RuntimeException or InvalidCastException)
        {
            throw new ArgumentTransformationMetadataException($"{limit.Name} of Limits: {e.Message}");
        }
    }
}

/// <summary>Takes an empty text as no value. Import-Csv returns it for an empty cell, and null for a cell
/// that the row does not have.</summary>
internal sealed class EmptyCellAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is "" ? null : inputData;
}

/// <summary>Leaves out the blank lines of a list, such as those of a file with endpoints. A single text stays
/// as it is, so that an empty variable is rejected.</summary>
internal sealed class FilledLinesAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        Unwrap(inputData) is IList { Count: > 1 } list && list.Cast<object?>().Any(IsBlank)
            ? list.Cast<object?>().Where(item => !IsBlank(item)).ToArray()
            : inputData;

    private static bool IsBlank(object? item) =>
        Unwrap(item) is string text && string.IsNullOrWhiteSpace(text);

    private static object? Unwrap(object? value) => value is PSObject wrapper ? wrapper.BaseObject : value;
}

/// <summary>Rejects connections for an endpoint parameter. If a connection comes from the pipeline together
/// with connection parameters, the shell would otherwise convert it to its endpoint's text, and connect
/// again.</summary>
internal sealed class NoConnectionAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        inputData is RpcConnection or PSObject { BaseObject: RpcConnection }
            ? throw new ArgumentTransformationMetadataException(
                "Connection parameters do not apply to an open connection. Give them to Connect-RpcEndpoint, "
                + "or use -Endpoint.")
            : inputData;
}

/// <summary>Makes a list of a single connection, without the reflection by which the shell makes one: that
/// took 2.7 % of a loop of short calls.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class OneConnectionAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is RpcConnection connection
            ? new[] { connection }
            : inputData;
}

/// <summary>Takes a list of paths and addresses as one <see cref="RpcSchemaSource"/>.</summary>
/// <remarks>The shell converts no list for a parameter that is not a list itself.</remarks>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class SchemaListAttribute : ArgumentTransformationAttribute
{
    /// <inheritdoc/>
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is IList list
            ? new RpcSchemaSource([.. list.Cast<object>()])
            : inputData;
}

/// <summary>The names of all message formats.</summary>
public sealed class FormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.All.Select(format => format.Name)];
}

/// <summary>The names of the message formats that HTTP endpoints accept.</summary>
public sealed class HttpFormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.OfHttp.Select(format => format.Name)];
}
