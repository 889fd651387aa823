using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using ProtoRpc.Benchmarks.Guard;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Scale;

/// <summary>Measures how costs grow with the size of an installation, by doubling the number of
/// parts.</summary>
internal static class ScaleBenchmark
{
    /// <summary>The argument of the process that measures.</summary>
    public const string Role = "scale-points";

    // Room for a GiB that is not given back to the system. The values are hexadecimal.
    private static readonly (string Name, string Value)[] Collector =
        [("GCgen0size", "40000000"), ("GCRetainVM", "1"), ("gcConcurrent", "0")];

    // A cost for each part has 1. Memory is counted, and what sorts has a little more. Times also grow where
    // parts leave the processor's caches, and where new memory comes from the system; quadratic ones have 2.
    private const double MostOfMemory = 1.1;
    private const double MostOfTime = 1.8;

    private static readonly IReadOnlyList<ScaleSubject> Subjects =
        [.. SchemaSubjects.All, .. MessageSubjects.All, .. ServerSubjects.All];

    /// <summary>Measures, and writes the page.</summary>
    public static void Write(string folder, BenchmarkOptions options)
    {
        IReadOnlyList<ScaleCurve> curves = Measure();
        ReportPage page = new(folder, "scale", "What grows");
        page.Paragraph(
            """
            How costs grow with the number of schemas, fields, connections, calls and the like. Each row
            doubles a number from the smallest to the largest, and shows the fastest of seven runs of the
            largest. The exponent is the slope of the last three numbers on logarithmic scales: 1 is a cost
            for each part, 0 a cost that does not depend on their number, 2 is quadratic. Times also grow
            where parts leave the processor's caches, and where the system has to give new memory.
            `guard scale` fails if an exponent of memory exceeds 1.1, or one of time 1.8. Client and server
            are in one process, so that memory is that of both. The garbage collector of this process
            collects between the runs only.
            """.ReplaceLineEndings(" "));
        page.Chart(
            "Exponents", "of the time",
            [
                new ChartPanel("1 is a cost for each part",
                    [
                        .. curves.Select(curve => new ChartBar(
                            curve.Subject.What, curve.TimeExponent, curve.TimeExponent, curve.TimeExponent)),
                    ]),
            ]);
        page.Table(
            ["what", "of", "to", "time, ms", "exponent", "allocated, KiB", "exponent", "held by each, bytes"],
            curves.Select(Row));
        page.Save("report --only scale");
    }

    /// <summary>The exponents, for the guard.</summary>
    public static IEnumerable<GuardFigure> Guard() => Measure().SelectMany(curve => new GuardFigure[]
    {
        new($"{curve.Subject.What}, time by {curve.Subject.Parts}", curve.TimeExponent, MostOfTime, "", 2),
        new($"{curve.Subject.What}, memory by {curve.Subject.Parts}",
            curve.MemoryExponent, MostOfMemory, "", 2),
    });

    /// <summary>Measures all subjects in this process, and prints the points of each as a line of
    /// JSON.</summary>
    public static int Run()
    {
        foreach (ScaleSubject subject in Subjects)
        {
            Console.WriteLine(JsonSerializer.Serialize(ScaleCurve.Measure(subject).Points));
        }

        return 0;
    }

    // In a process whose garbage collector has room for a whole run: collections copy what is alive, so that
    // the number of parts at which they begin would look like growth.
    private static List<ScaleCurve> Measure()
    {
        (string program, string[] arguments) = Worker.Again(Role);
        ProcessStartInfo start = new(program, arguments) { RedirectStandardOutput = true };
        foreach ((string name, string value) in Collector)
        {
            start.Environment[$"DOTNET_{name}"] = value;
        }

        using Process process = Process.Start(start)!;
        List<ScaleCurve> curves = [];
        foreach (ScaleSubject subject in Subjects)
        {
            string line = process.StandardOutput.ReadLine()
                ?? throw new InvalidOperationException($"'{subject.What}' failed.");
            ScaleCurve curve = new(subject, JsonSerializer.Deserialize<ScalePoint[]>(line)!);
            Console.WriteLine(string.Join("  ", Row(curve)));
            curves.Add(curve);
        }

        process.WaitForExit();
        return curves;
    }

    private static string[] Row(ScaleCurve curve)
    {
        ScalePoint last = curve.Points[^1];
        return
        [
            curve.Subject.What, curve.Subject.Parts, Format("N0", last.Size), Format("N2", last.Milliseconds),
            Format("0.00", curve.TimeExponent), Format("N0", last.AllocatedBytes / 1024),
            Format("0.00", curve.MemoryExponent), last.HeldBytes is { } held ? Format("N0", held) : "",
        ];
    }

    private static string Format(string format, double value) =>
        value.ToString(format, CultureInfo.InvariantCulture);
}
