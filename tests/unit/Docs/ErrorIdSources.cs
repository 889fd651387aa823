using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>Finds where C# code takes an error id from another place than RpcErrorIds.</summary>
/// <remarks>It looks at what ErrorId, a local errorId and the second argument of an ErrorRecord are set to,
/// and at the arguments of methods with a parameter errorId.</remarks>
internal static partial class ErrorIdSources
{
    /// <param name="code">The code to look through.</param>
    /// <param name="shared">Methods of other code that it may call.</param>
    public static IEnumerable<string> Foreign(string code, params (string Name, int Index)[] shared)
    {
        foreach (Match set in Set().Matches(code))
        {
            string value = Arguments(code, set.Index + set.Length)[0];
            foreach (string leaf in Leaves(value).Where(leaf => !Allowed().IsMatch(leaf)))
            {
                yield return leaf;
            }
        }

        // An ErrorRecord of two arguments is a copy.
        foreach (string leaf in Given(code, "new ErrorRecord", 1, 3).Where(leaf => !Allowed().IsMatch(leaf)))
        {
            yield return leaf;
        }

        // Other methods may have the same name, so only texts that look like an id tell.
        foreach ((string name, int index) in Methods(code).Concat(shared).Distinct())
        {
            foreach (string leaf in Given(code, name, index, index + 1).Where(leaf => IdText().IsMatch(leaf)))
            {
                yield return leaf;
            }
        }
    }

    /// <summary>The methods that take an error id, and the place of the id among their parameters.</summary>
    public static IEnumerable<(string Name, int Index)> Methods(string code) =>
        Declaration().Matches(code).Select(
        method => (method.Groups["name"].Value, method.Groups["before"].Value.Count(c => c == ',')));

    private static IEnumerable<string> Given(string code, string method, int index, int least)
    {
        string call = $"{method}(";
        for (int at = code.IndexOf(call, StringComparison.Ordinal); at >= 0;
            at = code.IndexOf(call, at + 1, StringComparison.Ordinal))
        {
            List<string> arguments = Arguments(code, at + call.Length);
            if (arguments.Count >= least)
            {
                yield return arguments[index];
            }
        }
    }

    // What a conditional or a switch expression can give, else the expression.
    private static IEnumerable<string> Leaves(string value) =>
        value.Contains(" switch", StringComparison.Ordinal)
            ? Arm().Matches(value).Select(arm => arm.Groups["value"].Value.Trim())
            : value.Split(" ? ") is [_, var cases] ? cases.Split(" : ").Select(leaf => leaf.Trim()) : [value];

    // The expressions from a position on, separated by commas, up to the bracket or semicolon that ends them.
    private static List<string> Arguments(string code, int start)
    {
        List<string> arguments = [];
        int depth = 0;
        bool isText = false;
        int from = start;
        for (int at = start; at < code.Length; at++)
        {
            char c = code[at];
            isText ^= c == '"' && code[at - 1] != '\\';
            if (isText)
            {
                continue;
            }

            bool isEnd = depth == 0 && (c is ';' or ')' or '}' or ']');
            if (isEnd || (depth == 0 && c == ','))
            {
                arguments.Add(Space().Replace(code[from..at], " ").Trim());
                from = at + 1;
                if (isEnd)
                {
                    break;
                }
            }

            depth += c is '(' or '{' or '[' ? 1 : c is ')' or '}' or ']' ? -1 : 0;
        }

        return arguments;
    }

    [GeneratedRegex(@"\b(?:ErrorId|string errorId) = ")]
    private static partial Regex Set();

    [GeneratedRegex(@"\b(?<name>\w+)\((?<before>[^()]*)\bstring errorId\b")]
    private static partial Regex Declaration();

    [GeneratedRegex(@"=> (?!throw )(?<value>[^,}]+)")]
    private static partial Regex Arm();

    [GeneratedRegex(@"^(?:RpcErrorIds\.\w+(?:\(.*\))?|errorId|(?:\w+\.)*ErrorId)$")]
    private static partial Regex Allowed();

    [GeneratedRegex("""^\$?"[\w{}]+"$""")]
    private static partial Regex IdText();

    [GeneratedRegex(@"\s+")]
    private static partial Regex Space();
}
