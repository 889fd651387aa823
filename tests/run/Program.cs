using System.Diagnostics;
using ProtoRpc.TestRun;
using ProtoRpc.TestRun.Packing;

const int Failed = 1;
const int Misused = 2;

string root = FindRoot();
if (args is [PackOptions.Verb, .. string[] packing])
{
    return await PackAsync(root, packing);
}

RunOptions options;
TestSuites suites;
try
{
    options = RunOptions.Parse(args, TestSuites.Names);
    suites = await TestSuites.CreateAsync(root, options);
}
catch (ArgumentException e)
{
    Console.Error.WriteLine(e.Message);
    return Misused;
}

List<SuiteResult> results = [];
Console.WriteLine($"Building for {string.Join(", ", suites.Wanted.Select(suite => suite.Name))} ...");
long start = Stopwatch.GetTimestamp();
if (await (options.All
    ? SolutionBuild.RunAsync(root, "ProtoRpc.slnx")
    : SolutionBuild.RunAsync(root, suites.Projects)) is { } buildErrors)
{
    results.Add(SuiteResult.Empty("build").WithFailure("build: the projects", buildErrors));
}
else
{
    Console.WriteLine($"  {Since(start)}");
    foreach (ITestSuite suite in suites.Wanted.Where(suite => suite.Exists || !options.All))
    {
        Console.WriteLine($"Running {suite.Name} ...");
        if (suite.StartsPowerShell)
        {
            await TestShell.FindAsync(root);
        }

        start = Stopwatch.GetTimestamp();
        results.Add(await RunAsync(suite, options.Filter));
        Console.WriteLine($"  {results[^1].Counts}, {Since(start)}");

        // Failures are shown immediately, because their reasons are only shown at the end of the long run.
        foreach (TestCase failed in results[^1].Failures)
        {
            Console.WriteLine($"  FAILED {failed.Name}");
        }
    }
}

RunSummary summary = new(results, suites.Left);
summary.Write(Console.Out);
return summary.Succeeded ? 0 : Failed;

static string Since(long start) => $"{Stopwatch.GetElapsedTime(start):m\\:ss} minutes";

static async Task<SuiteResult> RunAsync(ITestSuite suite, string? filter)
{
    try
    {
        return await suite.RunAsync(filter);
    }
#pragma warning disable CA1031 // If a suite crashes, the other suites must still run.
    catch (Exception e)
#pragma warning restore CA1031
    {
        return SuiteResult.Empty(suite.Name).WithFailure($"{suite.Name}: the whole run", e.ToString());
    }
}

static async Task<int> PackAsync(string root, string[] arguments)
{
    try
    {
        PackOptions packing = PackOptions.Parse(arguments);
        await (packing.ModuleOnly
            ? new ModulePacker(root, packing, Console.Out).RunAsync()
            : new Packer(root, packing, Console.Out).RunAsync());
        return 0;
    }
    catch (ArgumentException e)
    {
        Console.Error.WriteLine(e.Message);
        return Misused;
    }
    catch (PackFailure e)
    {
        Console.Error.WriteLine(e.Message);
        return Failed;
    }
    catch (Exception e) when (e is IOException or UnauthorizedAccessException)
    {
        Console.Error.WriteLine(
            $"The packages cannot be written: {e.Message} Choose another folder with --out FOLDER.");
        return Failed;
    }
}

static string FindRoot()
{
    for (DirectoryInfo? at = new(AppContext.BaseDirectory); at is not null; at = at.Parent)
    {
        if (File.Exists(Path.Combine(at.FullName, "ProtoRpc.slnx")))
        {
            return at.FullName;
        }
    }

    throw new InvalidOperationException("The runner must be built inside the repository.");
}
