using ProtoRpc.Benchmarks.Report;

namespace ProtoRpc.Benchmarks.Shell;

/// <summary>What shell.ps1 measured of one way to do something.</summary>
/// <param name="Group">What the ways that it compares have in common.</param>
/// <param name="Unit">Of the values.</param>
/// <param name="Name">The way.</param>
/// <param name="Values">One for each round.</param>
internal sealed record ShellResult(string Group, string Unit, string Name, IReadOnlyList<double> Values)
{
    /// <summary>The bars of a group.</summary>
    public static ChartPanel Panel(IGrouping<string, ShellResult> group) =>
        new(group.Key, [.. group.Select(result => ChartBar.Of(result.Name, [.. result.Values]))]);
}
