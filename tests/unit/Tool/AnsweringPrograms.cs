extern alias tool;

using tool::ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tests.Tool;

/// <summary>Stands in for the programs that the tool starts. A program without an answer does not
/// exist.</summary>
internal sealed class AnsweringPrograms
{
    private readonly Dictionary<string, Queue<ChildProcess.Result>> _answers = [];
    private readonly List<string> _commands = [];

    /// <summary>The commands that were run, with their arguments.</summary>
    public IReadOnlyList<string> Commands => _commands;

    /// <summary>Sets the next answer of a command; the last one is repeated.</summary>
    public AnsweringPrograms Answer(string command, int? exitCode, params string[] lines)
    {
        if (!_answers.TryGetValue(command, out Queue<ChildProcess.Result>? queue))
        {
            _answers.Add(command, queue = []);
        }

        queue.Enqueue(new ChildProcess.Result(exitCode, TimedOut: exitCode is null, lines));
        return this;
    }

    public Task<ChildProcess.Result> RunAsync(
        string fileName, IEnumerable<string> arguments, string folder, TimeSpan limit,
        Action<string>? onLine, CancellationToken cancellation)
    {
        string command = string.Join(' ', [fileName, .. arguments]);
        _commands.Add(command);
        Queue<ChildProcess.Result>? queue =
            _answers.FirstOrDefault(answer => command.StartsWith(answer.Key, StringComparison.Ordinal)).Value;
        ChildProcess.Result result = queue is null
            ? new ChildProcess.Result(null, TimedOut: false, [$"{fileName} cannot be started"])
            : queue.Count > 1 ? queue.Dequeue() : queue.Peek();
        foreach (string line in result.Lines)
        {
            onLine?.Invoke(line);
        }

        return Task.FromResult(result);
    }
}
