using System.Globalization;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Parameters;

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
    /// <exception cref="ArgumentTransformationMetadataException">The value is not a time.</exception>
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
    /// <summary>The limits.</summary>
    internal static SettingTable Limits { get; } =
        new(typeof(RpcLimits), "a limit", "Limits", "about_ProtoRpc_Limits");

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData)
    {
        if ((inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is not IDictionary table)
        {
            return inputData;
        }

        RpcLimits limits = RpcLimits.Default;
        Limits.Apply(table, limits, SettingTable.Read);
        return limits;
    }
}

/// <summary>Takes a number of retries or a hashtable for an <see cref="RpcRetryPolicy"/>.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class RetryTableAttribute : ArgumentTransformationAttribute
{
    private const string What = "-Retry";

    private static readonly SettingTable Settings = new(typeof(RpcRetryPolicy), $"a setting of {What}", What);

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) switch
        {
            RpcRetryPolicy policy => Checked(policy),
            IDictionary table => Checked(Read(table)),
            { } value => Checked(new RpcRetryPolicy { Count = Number(value) }),
            null => null,
        };

    private static RpcRetryPolicy Checked(RpcRetryPolicy policy)
    {
        Settings.Check(policy.Check);
        return policy;
    }

    private static int Number(object value)
    {
        if (value is bool || !LanguagePrimitives.TryConvertTo(
            value, CultureInfo.InvariantCulture, out int count))
        {
            throw new ArgumentTransformationMetadataException(
                $"'{TerminalText.Neutralize($"{value}")}' of {What} is not a number of retries. Give a "
                + $"number such as 3, or a hashtable such as @{{ {nameof(RpcRetryPolicy.Count)} = 3; "
                + $"{nameof(RpcRetryPolicy.StatusCodes)} = 'Unavailable' }}.");
        }

        return count;
    }

    private static RpcRetryPolicy Read(IDictionary table)
    {
        RpcRetryPolicy policy = new();
        Settings.Apply(table, policy, (setting, value) =>
            setting.PropertyType == typeof(IReadOnlyList<RpcStatusCode>)
                ? Codes(value)
                : SettingTable.Read(setting, value));
        return policy;
    }

    // PowerShell would convert 'Unavailable, Aborted' to the sum of both numbers.
    private static RpcStatusCode[] Codes(object? value) =>
    [
        .. LanguagePrimitives.ConvertTo<object[]>(value).SelectMany(
            item => (item is PSObject wrapped ? wrapped.BaseObject : item) is RpcStatusCode code ? [code]
                : RpcRetryPolicy.ReadStatusCodes($"{item}")
                ?? throw new ArgumentTransformationMetadataException(
                    $"'{TerminalText.Neutralize($"{item}")}' is not the status of a failed call. Give one or "
                    + $"more of {string.Join(", ", RpcRetryPolicy.StatusNames)}.")),
    ];
}

/// <summary>Takes a hashtable for <see cref="RpcRandomMessageOptions"/>, without the length of streams: this
/// is a separate parameter, because it also applies to messages that are not random.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class RandomMessageTableAttribute : ArgumentTransformationAttribute
{
    private const string What = "-RandomMessage";

    /// <summary>The settings.</summary>
    internal static SettingTable Settings { get; } = new(
        typeof(RpcRandomMessageOptions), $"a setting of {What}", What,
        except: nameof(RpcRandomMessageOptions.StreamLength));

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) switch
        {
            RpcRandomMessageOptions options => Checked(options),
            IDictionary table => Checked(Read(table)),
            null => null,
            { } value => throw new ArgumentTransformationMetadataException(
                $"'{TerminalText.Neutralize($"{value}")}' is not a hashtable. Give {What} @{{ }} for the "
                + $"defaults, or settings such as @{{ {nameof(RpcRandomMessageOptions.Seed)} = 5; "
                + $"{nameof(RpcRandomMessageOptions.MaxBytes)} = 1000 }}."),
        };

    private static RpcRandomMessageOptions Read(IDictionary table)
    {
        RpcRandomMessageOptions options = new();
        Settings.Apply(table, options, SettingTable.Read);
        return options;
    }

    private static RpcRandomMessageOptions Checked(RpcRandomMessageOptions options)
    {
        Settings.Check(options.Check);
        return options;
    }
}

/// <summary>Takes an empty text as no value. Import-Csv returns it for an empty cell, and null for a cell
/// that the row does not have.</summary>
internal sealed class EmptyCellAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is "" ? null : inputData;
}

/// <summary>Leaves out the blank lines of a list, such as those of a file with endpoints. A single text is
/// not changed, so that an empty variable is rejected.</summary>
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

/// <summary>Makes a list of a single connection. The shell would make it by reflection, which took 2.7 % of a
/// loop of short calls.</summary>
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

/// <summary>The names of the formats of requests: the message formats that HTTP endpoints accept, and the
/// text form of gRPC-Web.</summary>
public sealed class RequestFormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() =>
        [.. MessageFormats.OfHttp.Select(format => format.Name), RpcNamedEndpoint.GrpcWebText];
}
