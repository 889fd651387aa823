using ProtoRpc.TestRun;
using ProtoRpc.TestRun.Packing;
using ProtoRpc.TestRun.Windows;
using ProtoRpc.Tool.Processes;

const int Failed = 1;
const int Misused = 2;

string root = FindRoot();
if (args is [PackOptions.Verb, .. string[] packing])
{
    return await PackAsync(root, packing);
}

ITestSuite[] suites =
[
    new StyleSuite(root, TimeSpan.FromMinutes(5)),
    new PackSuite(root),
    new XunitSuite("unit", root, "tests/unit/ProtoRpc.Tests.csproj", TimeSpan.FromMinutes(8)),
    new PackedToolSuite(root, TimeSpan.FromMinutes(4)),
    new XunitSuite("http", root, "tests/http/ProtoRpc.Http.Tests.csproj", TimeSpan.FromMinutes(8)),
    new XunitSuite("interop", root, "tests/interop/ProtoRpc.Interop.csproj", TimeSpan.FromMinutes(12)),
    // Ninety seconds, beside half a minute for the growing inputs, or for the start and stop of listeners.
    new ProgramSuite(
        "fuzz", root, "tests/fuzz/ProtoRpc.Fuzz.csproj", ["--seconds", "90"], TimeSpan.FromMinutes(8),
        "the input that ran is in artifacts/fuzz/*.running"),
    new ProgramSuite(
        "long-run", root, "tests/longrun/ProtoRpc.LongRun.csproj", ["--seconds", "90"],
        TimeSpan.FromMinutes(8)),
    new TrimmedSuite(root, TimeSpan.FromMinutes(5)),
    new WindowsSuite(root, TimeSpan.FromMinutes(12)),
    new PesterSuite(root, TimeSpan.FromMinutes(10)),
];

RunOptions options;
try
{
    options = RunOptions.Parse(args, [.. suites.Select(suite => suite.Name)]);
}
catch (ArgumentException e)
{
    Console.Error.WriteLine(e.Message);
    return Misused;
}

List<SuiteResult> results = [];
if (await BuildAsync(root) is string buildErrors)
{
    results.Add(SuiteResult.Empty("build").WithFailure("build: the solution", buildErrors));
}
else
{
    foreach (ITestSuite suite in suites.Where(IsWanted))
    {
        Console.WriteLine($"Running {suite.Name} ...");
        results.Add(await RunAsync(suite, options.Filter));
        Console.WriteLine($"  {results[^1].Counts}");
    }
}

RunSummary summary = new(results);
summary.Write(Console.Out);
return summary.Succeeded ? 0 : Failed;

bool IsWanted(ITestSuite suite) =>
    options.Suites.Count == 0 ? suite.Exists : options.Suites.Contains(suite.Name);

static async Task<SuiteResult> RunAsync(ITestSuite suite, string? filter)
{
    try
    {
        return await suite.RunAsync(filter);
    }
#pragma warning disable CA1031 // Whatever breaks in one suite, the others still run and the last line comes.
    catch (Exception e)
#pragma warning restore CA1031
    {
        return SuiteResult.Empty(suite.Name).WithFailure($"{suite.Name}: the whole run", e.ToString());
    }
}

// Once for all suites; they would otherwise build the same projects again.
static async Task<string?> BuildAsync(string root)
{
    TimeSpan limit = TimeSpan.FromMinutes(10);
    Console.WriteLine("Building ...");
    ChildProcess.Result build = await ChildProcess.RunAsync(
        "dotnet", ["build", "ProtoRpc.slnx", "--nologo", "-v", "q", "-clp:NoSummary"], root, limit);
    return build.Succeeded ? null
        : build.TimedOut ? $"did not end in {limit.TotalMinutes} minutes\n{build.Text}"
        : build.Text;
}

static async Task<int> PackAsync(string root, string[] arguments)
{
    try
    {
        await new Packer(root, PackOptions.Parse(arguments), Console.Out).RunAsync();
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
