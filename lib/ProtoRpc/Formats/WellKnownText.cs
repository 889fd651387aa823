using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Formats;

/// <summary>The well-known types that are one text: Timestamp, Duration and FieldMask, as ProtoJSON has
/// them.</summary>
internal static class WellKnownText
{
    /// <summary>Whether it is one of these, or a wrapper, whose text is its value's.</summary>
    public static bool IsOne(WellKnownType type) => type is WellKnownType.Timestamp or WellKnownType.Duration
        or WellKnownType.FieldMask or WellKnownType.Wrapper;

    /// <returns>False when the message has no such text; <paramref name="problem"/> says why.</returns>
    public static bool TryWrite(
        DynamicMessage message, [NotNullWhen(true)] out string? text,
        [NotNullWhen(false)] out string? problem)
    {
        FieldLayout[] fields = message.Layout.Fields;
        if (message.Layout.WellKnown == WellKnownType.FieldMask)
        {
            return FieldMaskText.TryWrite(
                message.References[fields[0].Slot] as List<string> ?? [], out text, out problem);
        }
        long seconds = (long)message.Scalars[fields[0].Slot];
        int nanos = (int)message.Scalars[fields[1].Slot];
        bool isTime = message.Layout.WellKnown == WellKnownType.Timestamp;
        text = isTime
            ? WellKnownTime.TextOfTimestamp(seconds, nanos)
            : WellKnownTime.TextOfDuration(seconds, nanos);
        problem = text is null
            ? $"{seconds} s, {nanos} ns is not a {(isTime ? "time from year 1 to 9999" : "duration up to "
                + $"{WellKnownTime.MaxDurationSeconds} s, with one sign")}."
            : null;
        return text is not null;
    }

    /// <returns>What is wrong with the text, or null.</returns>
    public static string? Read(in MessageTarget message, string text)
    {
        FieldLayout[] fields = message.Layout.Fields;
        long seconds;
        int nanos;
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.FieldMask:
                List<string> paths = [];
                if (!FieldMaskText.TryRead(text, paths))
                {
                    return "is not a list of paths such as 'user.displayName,photo'.";
                }
                foreach (string path in paths)
                {
                    message.Store(fields[0], path);
                }
                return null;
            case WellKnownType.Timestamp:
                // RFC 3339 allows small letters and a space; ProtoJSON does not.
                if (text.AsSpan().ContainsAny("tz ") ||
                    !WellKnownTime.TryParseTimestamp(text, out seconds, out nanos))
                {
                    return "is not a time such as '2024-02-29T12:30:00.5Z', from year 1 to 9999.";
                }
                break;
            default:
                if (text.EndsWith('S') || !WellKnownTime.TryParseDuration(text, out seconds, out nanos))
                {
                    return "is not a duration such as '1.5s', of at most "
                        + $"{WellKnownTime.MaxDurationSeconds} s.";
                }
                break;
        }
        message.Store(fields[0], (ulong)seconds);
        message.Store(fields[1], ScalarValue.Of(nanos));
        return null;
    }
}
