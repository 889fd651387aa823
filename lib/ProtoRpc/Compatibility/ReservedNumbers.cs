using Google.Protobuf.Reflection;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>The numbers and names that a message or an enum reserves.</summary>
/// <param name="Ranges">The declared ranges.</param>
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

/// <summary>The effect of deleting a field or an enum value: its number and its names can be used for another
/// meaning, unless they are reserved.</summary>
internal sealed class NumberDeletion
{
    /// <param name="reserved">The reserved numbers and names of the newer message or enum.</param>
    /// <param name="bufKind">FIELD or ENUM_VALUE, as the rules of buf begin.</param>
    /// <param name="number">The number.</param>
    /// <param name="names">The names of the number; a value of an enum can have several.</param>
    /// <param name="newNumber">The number that the name has now; null if it was deleted.</param>
    public NumberDeletion(
        ReservedNumbers reserved, string bufKind, int number, IReadOnlyList<string> names, int? newNumber)
    {
        bool hasNumber = reserved.Numbers.Contains(number);
        bool hasNames = names.All(reserved.Names.Contains);
        Category = RpcBreakingCategory.Source
            | (hasNumber ? RpcBreakingCategory.None : RpcBreakingCategory.Wire)
            | (hasNames ? RpcBreakingCategory.None : RpcBreakingCategory.Json);
        List<string> bufRules = [$"{bufKind}_NO_DELETE"];
        if (!hasNumber)
        {
            bufRules.Add($"{bufKind}_NO_DELETE_UNLESS_NUMBER_RESERVED");
        }

        if (!hasNames)
        {
            bufRules.Add($"{bufKind}_NO_DELETE_UNLESS_NAME_RESERVED");
        }

        BufRules = bufRules;
        Advice = newNumber is { } now
            ? $"The name has the number {now} now. Set it back to {number}."
            : AdviceFor(hasNumber, hasNames, number, $"\"{Shown(string.Join("\", \"", names))}\"");
    }

    /// <summary>The kinds of users that the deletion breaks.</summary>
    public RpcBreakingCategory Category { get; }

    /// <summary>The rules of buf that it breaks.</summary>
    public IReadOnlyList<string> BufRules { get; }

    /// <summary>The advice.</summary>
    public string Advice { get; }

    private static string AdviceFor(bool hasNumber, bool hasNames, int number, string quoted) =>
        (hasNumber, hasNames) switch
        {
            (true, true) => "Mark it as deprecated first, and delete it when no code uses it.",
            (false, false) => $"Keep it, or write 'reserved {number};' and 'reserved {quoted};', so that "
                + "neither is used for something else.",
            (false, true) => $"Keep it, or write 'reserved {number};', so that the number is not used for "
                + "something else.",
            (true, false) => $"Keep it, or write 'reserved {quoted};', so that the name is not used for "
                + "something else.",
        };
}
