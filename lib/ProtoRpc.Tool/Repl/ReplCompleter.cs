using ProtoRpc.Tool.Completion;

namespace ProtoRpc.Tool.Repl;

/// <summary>What the last word of a line of the REPL may be.</summary>
internal sealed class ReplCompleter(ReplSession session)
{
    private static readonly string[] Shown = ["services", "methods", "messages", "headers", "service"];

    /// <summary>The words, and where the word begins that they stand for.</summary>
    public (int Start, IReadOnlyList<string> Words) Complete(string line)
    {
        int start = line.LastIndexOf(' ') + 1;
        string word = line[start..];
        string[] before = line[..start].Split(' ', StringSplitOptions.RemoveEmptyEntries);
        IEnumerable<string> words = before switch
        {
            [] => ReplSession.Commands,
            ["show"] => Shown,
            ["use" or "service" or "methods"] => Services(),
            ["call" or "template"] => Methods(),
            ["describe" or "desc"] => Services().Concat(Methods())
                .Concat(session.Schema.Messages.Select(one => one.FullName)),
            ["call", var method, ..] => Fields(method, word),
            _ => [],
        };
        return (start,
        [
            .. words.Where(one => one.StartsWith(word, StringComparison.OrdinalIgnoreCase))
                .Select(TerminalText.Neutralize).Distinct().Order(StringComparer.Ordinal),
        ]);
    }

    private IEnumerable<string> Services() => session.Schema.Services.Select(one => one.FullName);

    // Bare names of the service that is used, and full names of all.
    private IEnumerable<string> Methods() => session.Schema.Services.SelectMany(service =>
        service.Methods.Select(method => service == session.Service ? method.Name : method.FullName));

    private IEnumerable<string> Fields(string name, string word) =>
        session.TryFind(name) is { } method ? FieldPaths.Of(method.RequestType, word) : [];
}
