using System.Globalization;
using System.Management.Automation;
using System.Text.Json;
using ProtoRpc.Commands;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>Lets a parameter of a service's command take text as the field of a message does: cells of a
/// table, dates in UTC, durations in seconds, bytes with a prefix.</summary>
/// <param name="kind">The name of a kind of text.</param>
[AttributeUsage(AttributeTargets.Property | AttributeTargets.Field)]
public sealed class RpcFieldTextAttribute(string kind) : ArgumentTransformationAttribute
{
    private readonly ArgumentText _kind = Enum.Parse<ArgumentText>(kind);

    /// <summary>Stands for no time: the shell converts null to neither type. Compare with
    /// <see cref="DateTimeOffset.EqualsExact"/>: no clock has this offset, but the same moment can be
    /// given.</summary>
    internal static DateTimeOffset NoTime { get; } = new(9999, 12, 31, 23, 59, 59, new TimeSpan(13, 59, 0));

    /// <summary>Stands for no duration.</summary>
    internal static TimeSpan NoDuration { get; } = TimeSpan.MinValue;

    /// <summary>Whether null is passed on to it. The shell asks for each parameter of each call, also for
    /// those that are not given.</summary>
    public override bool TransformNullOptionalParameters =>
        _kind is ArgumentText.Timestamp or ArgumentText.Duration;

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData)
    {
        object? value = PSObjectModel.Instance.Unwrap(inputData);
        return value switch
        {
            null => Read("", inputData),
            string text => Read(_kind == ArgumentText.Bytes ? text : text.Trim(), inputData),
            byte[] bytes when _kind == ArgumentText.BytesList => new object[] { bytes },
            // A number with the suffix of seconds, 5s, is a number for the shell, which keeps its text.
            IConvertible when _kind == ArgumentText.Duration =>
                ReadDuration(inputData!.ToString()!) ?? throw Invalid(inputData),
            // After a job, an object that the shell would convert by its text.
            DateTimeOffset => value,
            _ => inputData,
        };
    }

    private object? Read(string text, object? given) => _kind switch
    {
        ArgumentText.Bool => ReadBool(text) ?? given,
        ArgumentText.List or ArgumentText.BytesList => ReadList(text) ?? given,
        ArgumentText.Timestamp when text.Length == 0 => NoTime,
        ArgumentText.Duration when text.Length == 0 => NoDuration,
        _ when text.Length == 0 => null,
        ArgumentText.Bytes => BytesReader.Read(text, PSObjectModel.Instance, out byte[] bytes) is { } problem
            ? throw new ArgumentTransformationMetadataException($"'{given}' {problem}")
            : bytes,
        ArgumentText.Timestamp => ReadTime(text) ?? throw Invalid(given),
        ArgumentText.Duration => ReadDuration(text) ?? throw Invalid(given),
        _ => given,
    };

    private static object? ReadBool(string text) => text switch
    {
        "" or "0" => false,
        "1" => true,
        _ => bool.TryParse(text, out bool flag) ? flag : null,
    };

    private static object? ReadTime(string text) =>
        WellKnownTime.TryParseTimestamp(text, out long seconds, out int nanos)
        || WellKnownTime.TryParsePlainDate(text, out seconds, out nanos)
            ? WellKnownTime.ToDate(seconds, nanos)
            : null;

    private static object? ReadDuration(string text) =>
        text.Contains(':') && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out TimeSpan span) ? span
        : WellKnownTime.TryParseDuration(text, out long seconds, out int nanos)
            ? WellKnownTime.ToTimeSpan(seconds, nanos)
        : null;

    private object[]? ReadList(string text)
    {
        if (text.Length == 0)
        {
            return [];
        }

        if (text[0] != '[')
        {
            return null;
        }

        try
        {
            using JsonDocument document = JsonDocument.Parse(text);
            return [.. document.RootElement.EnumerateArray().Select(ReadElement)];
        }
        catch (JsonException)
        {
            // Other text, which the shell converts or refuses.
            return null;
        }
    }

    // Bytes are base64 in JSON.
    private object ReadElement(JsonElement element) => element.ValueKind != JsonValueKind.String
        ? element.GetRawText()
        : _kind == ArgumentText.BytesList
            && BytesReader.ReadBase64(element.GetString()!, out byte[] bytes) is null
            ? bytes
            : element.GetString()!;

    private ArgumentTransformationMetadataException Invalid(object? value) => new(
        $"'{value}' " + _kind switch
        {
            ArgumentText.Timestamp => "is not a time. Give a DateTime, a DateTimeOffset, or text such as "
                + "'2024-02-29' or '2024-02-29T12:30:00Z'.",
            _ => "is not a duration. Give a TimeSpan, or text such as '1.5s' or '00:00:01.5'.",
        });
}
