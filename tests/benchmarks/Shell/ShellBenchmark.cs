using System.Globalization;
using ProtoRpc.Benchmarks.Report;

namespace ProtoRpc.Benchmarks.Shell;

/// <summary>The module in PowerShell, against what else the shell calls services with.</summary>
internal static class ShellBenchmark
{
    public static void Write(string folder, BenchmarkOptions options)
    {
        if (ShellScript.WhyNot() is string reason)
        {
            Console.WriteLine($"The page about the shell is not written: {reason}");
            return;
        }

        IReadOnlyList<ShellResult> results = ShellScript.Run(options);
        ReportPage page = new ReportPage(folder, "shell", "The shell: the module against its neighbors")
            .Paragraph(
                """
                The module's commands against Invoke-RestMethod, the channel of PowerShell remoting, JSON of
                the shell, and handlers in C#. Servers are processes of their own.
                """)
            .Paragraph(options.Describe())
            .Paragraph(
                """
                All rows of one group are measured in turns. **Invoke-RestMethod** calls a minimal API of
                ASP.NET Core, with a body that is made once. **An open PSSession** is a session of PowerShell
                remoting in a process of its own, over pipes and without a network; New-PSSession over SSH or
                WinRM adds these to each call. **Start-Job** and **Start-ThreadJob** start a job for each
                call.
                """)
            .Paragraph(results.Any(result => result.Name.StartsWith("Pode", StringComparison.Ordinal))
                ? "Pode answers the same calls of the same HTTP client as the handlers."
                : options.Pode is null
                    ? "Pode was not measured: no path of the module was given with `--pode`."
                    : "Pode was not measured: it did not start from the path that was given.");
        foreach (IGrouping<string, ShellResult> unit in results.GroupBy(result => result.Unit))
        {
            page.Chart(
                "The shell", unit.Key, [.. unit.GroupBy(result => result.Group).Select(ShellResult.Panel)]);
        }

        foreach (IGrouping<string, ShellResult> group in results.GroupBy(result => result.Group))
        {
            ShellResult first = group.First();
            page.Heading(group.Key).Table(
                ["what", first.Unit, "worst", "best", "of the first"],
                group.Select(result => Row(result, first)));
        }

        page.Save(options.CommandOf("shell"));
    }

    private static string[] Row(ShellResult result, ShellResult first)
    {
        bool isTime = result.Unit == "ms";
        double ratio = ResultTable.Median(result.Values.Zip(first.Values, (own, others) => own / others));
        return
        [
            result.Name,
            ResultTable.Rate(ResultTable.Median(result.Values)),
            ResultTable.Rate(isTime ? result.Values.Max() : result.Values.Min()),
            ResultTable.Rate(isTime ? result.Values.Min() : result.Values.Max()),
            ratio.ToString(ratio < 0.1 ? "P1" : "P0", CultureInfo.InvariantCulture),
        ];
    }
}
