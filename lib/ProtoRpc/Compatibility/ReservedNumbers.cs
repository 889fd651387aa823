using Google.Protobuf.Reflection;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>The numbers and names that a message or an enum reserves.</summary>
/// <param name="Ranges">The ranges as they are declared.</param>
/// <param name="Names">The names.</param>
internal sealed record ReservedNumbers(IReadOnlyList<NumberRange> Ranges, IReadOnlySet<string> Names)
{
    /// <summary>The numbers, for searching.</summary>
    public NumberRanges Numbers => field ??= new NumberRanges(Ranges);

    public static ReservedNumbers FromMessage(DescriptorProto message) => new(
        [.. message.ReservedRange.Select(range => NumberRange.FromMessage(range.Start, range.End))],
        message.ReservedName.ToHashSet(StringComparer.Ordinal));

    /// <summary>Those of an enum, whose descriptor includes the end of a range.</summary>
    public static ReservedNumbers FromEnum(EnumDescriptorProto type) => new(
        [.. type.ReservedRange.Select(range => new NumberRange(range.Start, range.End))],
        type.ReservedName.ToHashSet(StringComparer.Ordinal));
}

/// <summary>Finds numbers and names that are no longer reserved.</summary>
internal static class ReservedComparer
{
    public static void Compare(
        ReservedNumbers older, ReservedNumbers newer, SchemaElement element, string bufRule,
        ChangeList changes)
    {
        foreach (NumberRange range in older.Ranges.Where(range => !newer.Numbers.Contains(range)))
        {
            changes.Add(
                RpcBreakingRule.ReservedDeleted, RpcBreakingCategory.Wire, element,
                $"The range 'reserved {range}' is no longer complete. Reserve all its numbers again: older "
                + "messages use them for something else.",
                bufRule);
        }

        foreach (string name in older.Names.Where(name => !newer.Names.Contains(name)))
        {
            changes.Add(
                RpcBreakingRule.ReservedDeleted, RpcBreakingCategory.Json, element,
                $"The name \"{Shown(name)}\" is no longer reserved. Reserve it again: older messages in JSON "
                + "use it for something else.",
                bufRule);
        }
    }
}
