using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that set how much is written about a call.</summary>
internal sealed class VerboseOptions
{
    private readonly Option<bool> _verbose = new("--verbose", "-v")
    {
        Description = "Also writes the method, headers and trailers, to standard error.",
    };

    private readonly Option<bool> _more = new("--very-verbose", "-vv")
    {
        Description = "Also writes sizes and times, to standard error.",
    };

    public VerboseOptions(Command command)
    {
        command.Add(_verbose);
        command.Add(_more);
    }

    public CallReport Report(ParseResult parsed, ToolConsole console)
    {
        bool isMore = parsed.GetValue(_more);
        return new CallReport(console, isMore || parsed.GetValue(_verbose), isMore);
    }
}
