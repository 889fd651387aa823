using System.Collections.ObjectModel;
using System.Globalization;
using System.Management.Automation.Language;
using System.Text;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Assert, "RpcMockCall")]
[OutputType(typeof(void))]
public sealed class AssertRpcMockCallCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter(Mandatory = true, Position = 1)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MockMethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter]
    [ValidateRange(ValidateRangeKind.NonNegative)]
    public int Times { get; set; } = 1;

    [Parameter]
    public SwitchParameter Exactly { get; set; }

    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? Where { get; set; }

    protected override void Process()
    {
        RpcMockCall[] calls;
        RpcMethodInfo method;
        try
        {
            method = Mock.Mock.FindMethod(Method);
            calls = [.. Mock.Mock.CallsOf(method.FullName).Select(call => new RpcMockCall(call))];
        }
        catch (RpcException e)
        {
            // Terminating, so that a wrong method name does not pass as a call that was not made.
            Fail(e);
            return;
        }

        bool[] matches = [.. calls.Select((call, index) => Matches(call, index))];
        int count = matches.Count(match => match);
        if (count == Times || (count > Times && Times > 0 && !Exactly))
        {
            return;
        }

        CallMismatch mismatch = new(method, Times, Exactly || Times == 0, Where)
        {
            Dropped = Mock.DroppedCalls,
            Others = [.. Mock.Mock.Calls.Where(call => call.Method != method)],
        };
        Fail(
            new RpcException(
                RpcStatusCode.FailedPrecondition,
                mismatch.Describe(calls, matches, WhereConditions.Parse(Where, InvokeCommand)))
            {
                ErrorId = RpcErrorIds.MockCallMismatch,
                MethodName = method.FullName,
            },
            Mock);
    }

    private bool Matches(RpcMockCall call, int index)
    {
        if (Where is null)
        {
            return true;
        }

        try
        {
            Collection<PSObject> output =
                Where.InvokeWithContext(null, [new PSVariable("_", PSObject.AsPSObject(call))]);
            return LanguagePrimitives.IsTrue(output);
        }
        catch (RuntimeException e)
        {
            Fail(new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.MockCallMismatch,
                $"The block of -Where failed for call {index + 1} of {call.Method}: {e.Message}", e));
            return false;
        }
    }
}

[Cmdlet(VerbsCommon.Get, "RpcMockCall")]
[OutputType(typeof(RpcMockCall))]
public sealed class GetRpcMockCallCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter(Position = 1)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MockMethodCompleter))]
    public string[] Method { get; set; } = [];

    protected override void Process()
    {
        RpcMethodInfo[] methods = [.. Method.Select(Mock.Mock.FindMethod)];
        foreach (RpcRecordedCall call in Mock.Mock.Calls)
        {
            if (methods.Length == 0 || methods.Contains(call.Method))
            {
                WriteObject(new RpcMockCall(call));
            }
        }
    }
}

/// <summary>Describes the calls that a test expected, and the calls that the mock received.</summary>
/// <param name="method">The method.</param>
/// <param name="times">The expected number of calls.</param>
/// <param name="isExact">Whether more calls are also a mismatch.</param>
/// <param name="where">Selects the calls that count; null for all.</param>
internal sealed class CallMismatch(RpcMethodInfo method, int times, bool isExact, ScriptBlock? where)
{
    private const int MaxCalls = 20;
    private const int MaxText = 300;

    /// <summary>The calls of other methods.</summary>
    public required IReadOnlyList<RpcRecordedCall> Others { get; init; }

    /// <summary>The number of calls that the mock dropped.</summary>
    public required long Dropped { get; init; }

    /// <summary>The description, in several lines.</summary>
    /// <param name="calls">The calls of the method.</param>
    /// <param name="matches">Whether each of them counts.</param>
    /// <param name="conditions">The comparisons in the block.</param>
    public string Describe(
        RpcMockCall[] calls, bool[] matches, IReadOnlyList<WhereCondition> conditions)
    {
        StringBuilder text = new();
        string filter = where is null ? "" : $" where {{{Short(where.ToString())}}}";
        text.Append(
            $"Expected {method.FullName} to be called {(isExact ? "exactly" : "at least")} {Count(times)}"
            + $"{filter}, but {Got(calls.Length, matches.Count(match => match))}.");
        for (int i = 0; i < Math.Min(calls.Length, MaxCalls); i++)
        {
            AppendCall(text, i, calls[i], matches[i], conditions);
        }

        if (calls.Length > MaxCalls)
        {
            text.Append($"\n  ... and {calls.Length - MaxCalls} more");
        }

        if (Others.Count > 0)
        {
            text.Append("\nCalls of other methods: ").AppendJoin(", ", Others
                .CountBy(call => call.Method.FullName)
                .OrderBy(other => other.Key, StringComparer.Ordinal)
                .Select(other => $"{other.Key} ({other.Value})"));
        }

        if (Dropped > 0)
        {
            text.Append($"\nThe mock dropped {Dropped} older calls, which are not counted.");
        }

        return text.ToString();
    }

    private string Got(int calls, int matching) => (where, calls) switch
    {
        (_, 0) => "it was not called",
        (null, _) => $"it was called {Count(calls)}",
        _ => $"{matching} of its {calls} {(calls == 1 ? "call" : "calls")} did",
    };

    private void AppendCall(
        StringBuilder text, int index, RpcMockCall call, bool isMatch,
        IReadOnlyList<WhereCondition> conditions)
    {
        string mark = where is null ? " " : isMatch ? "=" : "x";
        string time = call.Time.ToString("HH:mm:ss.fff", CultureInfo.InvariantCulture);
        text.Append($"\n{mark} {index + 1}. {time} {call.Status?.ToString() ?? "running"}: {JsonOf(call)}");
        if (where is null || isMatch)
        {
            return;
        }

        WhereDifference[] differences =
            [.. conditions.Select(condition => condition.Compare(call)).OfType<WhereDifference>()];
        int width = differences.Select(difference => difference.Expected.Length).Append(0).Max();
        foreach (WhereDifference difference in differences)
        {
            text.Append(
                $"\n       expected {Short(difference.Expected).PadRight(Math.Min(width, MaxText))}"
                + $"   received {Short(difference.Received)}");
        }
    }

    private static string JsonOf(RpcMockCall call)
    {
        IEnumerable<string> messages = call.Record.Requests.Select(request =>
        {
            try
            {
                return MessageFormats.Json.ToText(request);
            }
            catch (RpcException)
            {
                return $"({request.Type.FullName})";
            }
        });
        return Short(call.Record.Method.IsClientStreaming
            ? $"[{string.Join(", ", messages)}]"
            : messages.FirstOrDefault() ?? "(no request)");
    }

    private static string Short(string text)
    {
        string line = string.Join(' ', text.Split(['\r', '\n', '\t'], StringSplitOptions.RemoveEmptyEntries));
        return line.Length <= MaxText ? line : $"{line.AsSpan(0, MaxText)}...";
    }

    private static string Count(int times) => times == 1 ? "1 time" : $"{times} times";
}

/// <summary>Finds the comparisons in a block that selects calls, so that a failure can show the values that
/// each call received.</summary>
internal static class WhereConditions
{
    /// <summary>The comparisons of members of <c>$_</c>; empty if the block has another form.</summary>
    /// <param name="where">The block; null for none.</param>
    /// <param name="shell">Makes blocks that see the variables of the test.</param>
    public static IReadOnlyList<WhereCondition> Parse(ScriptBlock? where, CommandInvocationIntrinsics shell)
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

/// <summary>Offers the methods of a mock, or of all mocks of this runspace.</summary>
internal sealed class MockMethodCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        IEnumerable<RpcMockListener> mocks = Unwrap(bound["Mock"]) is RpcMockListener mock
            ? [mock]
            : RunspaceStore.Current.Listeners.OfType<RpcMockListener>();
        List<RpcMethodInfo> methods =
            [.. mocks.SelectMany(one => one.Mock.Methods).DistinctBy(method => method.FullName)];
        HashSet<string> unique = [.. methods.CountBy(method => method.Name)
            .Where(count => count.Value == 1)
            .Select(count => count.Key)];
        return methods.Select(method => new Candidate(
            unique.Contains(method.Name) ? method.Name : method.FullName, MethodCompleter.ToolTip(method)));
    }
}
