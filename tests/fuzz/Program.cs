using ProtoRpc.Fuzz.Engine;

namespace ProtoRpc.Fuzz;

/// <summary>Runs the targets, repeats one input, or writes what a run came to into a page.</summary>
internal static class Program
{
    private const int Failed = 1;
    private const int Misused = 2;

    public static int Main(string[] args)
    {
        try
        {
            switch (args)
            {
                case ["instrument"]:
                    Instrumentation.Apply();
                    return 0;
                case ["report", string section, string file]:
                    ReliabilityPage.Open().Write(section, File.ReadAllText(file));
                    return 0;
                default:
                    // Before the first class of the libraries: its constructor counts, too.
                    Coverage.Start();
                    return Run(FuzzOptions.Parse(args));
            }
        }
        catch (ArgumentException e)
        {
            Console.Error.WriteLine(e.Message);
            return Misused;
        }
    }

    private static int Run(FuzzOptions options)
    {
        using FuzzRun run = new(options);
        if (options.Input is { } input)
        {
            return run.Repeat(input) ? 0 : Failed;
        }

        run.Run();
        run.Write(Console.Out);
        if (options.Report is { } report)
        {
            run.WriteReport(report);
        }

        if (options.Record)
        {
            ReliabilityPage page = ReliabilityPage.Open();
            page.Write("fuzz", FuzzTable.Add(page.Read("fuzz"), run.Results));
        }

        return run.Failed ? Failed : 0;
    }
}
