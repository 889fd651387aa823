using System.Globalization;
using System.Management.Automation;

namespace ProtoRpc;

/// <summary>Accepts a number of seconds for a parameter of type TimeSpan.</summary>
[AttributeUsage(AttributeTargets.Property)]
public sealed class DeadlineAttribute : ArgumentTransformationAttribute
{
    /// <summary>Whether zero is allowed.</summary>
    public bool AllowZero { get; set; }

    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData)
    {
        object? value = inputData is PSObject wrapped ? wrapped.BaseObject : inputData;
        TimeSpan time = value switch
        {
            TimeSpan given => given,
            string text when double.TryParse(
                text, NumberStyles.Float, CultureInfo.InvariantCulture, out double seconds) =>
                Seconds(seconds),
            string text when TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out TimeSpan parsed) =>
                parsed,
            IConvertible number when number.GetTypeCode() is >= TypeCode.SByte and <= TypeCode.Decimal =>
                Seconds(number.ToDouble(CultureInfo.InvariantCulture)),
            _ => throw Invalid(value),
        };

        return time > TimeSpan.Zero
            || time == Timeout.InfiniteTimeSpan
            || (AllowZero && time == TimeSpan.Zero)
                ? time
                : throw Invalid(value);
    }

    private static TimeSpan Seconds(double seconds) =>
        Math.Abs(seconds) < TimeSpan.MaxValue.TotalSeconds
            ? TimeSpan.FromSeconds(seconds)
            : throw Invalid(seconds);

    private static ArgumentTransformationMetadataException Invalid(object? value) => new(
        $"'{value}' is not a time: write seconds (2.5), a TimeSpan ('00:01:30'), or "
        + "[System.Threading.Timeout]::InfiniteTimeSpan for no limit.");
}
