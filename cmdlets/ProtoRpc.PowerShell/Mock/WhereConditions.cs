using System.Collections;
using System.Globalization;
using System.Management.Automation;
using System.Management.Automation.Language;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc.PowerShell.Mock;

/// <summary>Finds the comparisons in a block that selects calls, so that a failure can show the values that
/// each call received.</summary>
internal static class WhereConditions
{
    /// <summary>The comparisons of members of <c>$_</c>; empty if the block has another form.</summary>
    /// <param name="where">The block; null for none.</param>
    /// <param name="shell">Makes blocks that see the variables of the test.</param>
    public static IReadOnlyList<WhereCondition> Of(ScriptBlock? where, CommandInvocationIntrinsics shell)
    {
        if (where is null)
        {
            return [];
        }

        // Both sides are evaluated again, so only side-effect-free expressions are accepted.
        return
        [
            .. where.Ast.FindAll(ast => ast is BinaryExpressionAst, searchNestedScriptBlocks: false)
                .Cast<BinaryExpressionAst>()
                .Where(comparison =>
                    comparison.Operator is not (TokenKind.And or TokenKind.Or or TokenKind.Xor)
                    && IsValue(comparison))
                .Select(comparison => ConditionOf(comparison, shell))
                .OfType<WhereCondition>(),
        ];
    }

    // The member can be on either side: script analyzers require $null on the left.
    private static WhereCondition? ConditionOf(
        BinaryExpressionAst comparison, CommandInvocationIntrinsics shell)
    {
        ExpressionAst side = MemberOf(comparison.Left) is null ? comparison.Right : comparison.Left;
        return MemberOf(side) is { } member
            ? new WhereCondition(
                member,
                comparison.Extent.Text,
                shell.NewScriptBlock(side.Extent.Text),
                shell.NewScriptBlock(comparison.Extent.Text))
            : null;
    }

    // Accepts $_.Request.query, optionally with an index inside.
    private static string? MemberOf(ExpressionAst expression) => expression switch
    {
        InvokeMemberExpressionAst => null,
        MemberExpressionAst { Member: StringConstantExpressionAst name } member =>
            MemberOf(member.Expression) is { } parent
                ? parent.Length == 0 ? name.Value : $"{parent}.{name.Value}"
                : null,
        IndexExpressionAst { Index: ConstantExpressionAst index } indexed =>
            MemberOf(indexed.Target) is { } parent ? $"{parent}[{index.Extent.Text}]" : null,
        VariableExpressionAst variable
            when variable.VariablePath.UserPath is "_" or "PSItem" => "",
        _ => null,
    };

    private static bool IsValue(Ast ast) => !ast.FindAll(
        node => node is CommandAst or InvokeMemberExpressionAst or AssignmentStatementAst
            or UnaryExpressionAst
        {
            TokenKind: TokenKind.PlusPlus or TokenKind.MinusMinus or TokenKind.PostfixPlusPlus
                    or TokenKind.PostfixMinusMinus
        },
        searchNestedScriptBlocks: true).Any();
}

/// <summary>A comparison of a member of a call.</summary>
/// <param name="Member">The member's path.</param>
/// <param name="Text">The source text of the comparison.</param>
/// <param name="Value">Returns the member's value.</param>
/// <param name="Whole">Returns whether the comparison holds.</param>
internal sealed record WhereCondition(string Member, string Text, ScriptBlock Value, ScriptBlock Whole)
{
    /// <summary>The difference in a call; null if the comparison holds.</summary>
    public WhereDifference? Compare(RpcMockCall call)
    {
        try
        {
            if (LanguagePrimitives.IsTrue(Whole.InvokeWithContext(null, Variables(call))))
            {
                return null;
            }

            object?[] values = [.. Value.InvokeWithContext(null, Variables(call))];
            return new(Text, $"{Member} = {(values is [var only] ? TextOf(only) : TextOf(values))}");
        }
        catch (RuntimeException e)
        {
            return new(Text, $"{Member}: {e.Message}");
        }
    }

    // A new list for each run, because InvokeWithContext removes $_ from the list.
    private static List<PSVariable> Variables(RpcMockCall call) => [new("_", PSObject.AsPSObject(call))];

    private static string TextOf(object? value) => HandlerValue.Bare(value) switch
    {
        null => "$null",
        string text => $"'{text}'",
        bool truth => truth ? "$true" : "$false",
        IEnumerable list and not IDictionary =>
            $"@({string.Join(", ", list.Cast<object?>().Select(TextOf))})",
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => value?.ToString() ?? "$null",
    };
}

/// <summary>A comparison that does not hold.</summary>
/// <param name="Expected">The comparison.</param>
/// <param name="Received">The actual value.</param>
internal sealed record WhereDifference(string Expected, string Received);
