using ProtoRpc.Benchmarks.Shell;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>Measures what the import of the packed module in <c>out</c> adds to the start of a shell; without
/// one, that of the build. The fastest of several starts counts, which other programs of the machine change
/// the least.</summary>
internal static class ImportTime
{
    private const double MostMilliseconds = 100;

    public static GuardFigure Measure()
    {
        IReadOnlyList<ShellResult> starts = ShellScript.Run(BenchmarkOptions.Parse([]), "import");
        double empty = starts[0].Values.Min();
        return new GuardFigure(
            "import of the module", starts[1].Values.Min() - empty, MostMilliseconds, "ms");
    }
}
