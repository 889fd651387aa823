using System.Globalization;
using System.Management.Automation;
using System.Text;

namespace ProtoRpc.PowerShell.Mock;

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
