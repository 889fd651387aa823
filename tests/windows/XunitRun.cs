using System.Diagnostics;
using System.Reflection;
using Xunit;
using Xunit.Runner.Common;
using Xunit.Sdk;
using Xunit.v3;

namespace ProtoRpc.WindowsTests;

/// <summary>Runs tests with xunit's own framework, one class after the other.</summary>
internal sealed class XunitRun(TestPlan plan, TestJournal journal)
{
    private const int Retries = 3;

    // One test after the other: exceptions that several threads throw at the same time overflow stacks under
    // Wine.
    private static readonly TestAssemblyConfiguration Configuration = new()
    {
        ParallelMode = ParallelMode.None,
    };

    private readonly Assembly _tests = Assembly.Load(plan.Assembly);
    private readonly HashSet<string> _without = [.. plan.Without];

    public async Task RunAsync()
    {
        TestContext.SetForInitialization(
            diagnosticMessageSink: null, diagnosticMessages: false, internalDiagnosticMessages: false);
        Type[] all =
        [
            .. _tests.GetTypes()
                .Where(type => IsInSpaces(type) && !plan.Later.Any(space => IsIn(type, space))
                    && TestsOf(type).Any())
                .OrderBy(type => type.FullName, StringComparer.Ordinal),
        ];
        Type[] wanted = [.. Select(all)];
        // The first part counts what is left out, once for all parts.
        bool counts = plan is { Part: 0, Classes: null, Filter: "" };
        bool knowsAll = counts && plan.Spaces is null;
        journal.Write(new
        {
            kind = "plan",
            classes = wanted.Select(type => type.FullName),
            without = counts ? CountWithout(all) : [],
            unknown = knowsAll ? Unknown() : [],
        });
        foreach (Type type in wanted)
        {
            journal.BeginClass(type.FullName!);
            Stopwatch watch = Stopwatch.StartNew();
            await RunAsync(type);
            journal.Write(
                new { kind = "classEnd", name = type.FullName, seconds = watch.Elapsed.TotalSeconds });
        }

        journal.Write(new { kind = "end" });
    }

    private async Task RunAsync(Type type)
    {
        await using XunitTestFramework framework = new();
        List<ITestCase> cases = [];
        await framework.GetDiscoverer(_tests).Find(
            test =>
            {
                if (IsWanted(test))
                {
                    cases.Add(test);
                }

                return new ValueTask<bool>(true);
            },
            TestFrameworkOptions.ForDiscovery(Configuration),
            [type]);
        journal.Write(new { kind = "cases", ids = cases.Select(test => test.UniqueID) });

        // Wine's timing is not that of Windows, and a reset may lose what came before it. Only a test that
        // fails in each try has failed.
        ITestFrameworkExecutor executor = framework.GetExecutor(_tests);
        for (int retry = 0; retry <= Retries && cases.Count > 0; retry++)
        {
            TestSink sink = new(journal, isLast: retry == Retries);
            await executor.RunTestCases(cases, sink, TestFrameworkOptions.ForExecution(Configuration));
            cases.RemoveAll(test => !sink.Failed.Contains(test.UniqueID));
        }
    }

    private bool IsWanted(ITestCase test) =>
        plan.Tests?.Contains(test.UniqueID) != false
        && test.TestCaseDisplayName.Contains(plan.Filter, StringComparison.Ordinal)
        && !_without.Contains($"{test.TestClassName}.{test.TestMethodName}");

    private IEnumerable<Type> Select(Type[] all) => plan.Classes is { } classes
        ? all.Where(type => classes.Contains(type.FullName))
        : all.Where(type => !_without.Contains(type.FullName!)).Where((_, i) => i % plan.Parts == plan.Part);

    private bool IsInSpaces(Type type) =>
        plan.Spaces is null || plan.Spaces.Any(space => IsIn(type, space));

    // A class is in itself, and in its namespaces.
    private static bool IsIn(Type type, string space) =>
        $"{type.FullName}.".StartsWith($"{space}.", StringComparison.Ordinal);

    private Dictionary<string, int> CountWithout(Type[] all) => all
        .SelectMany(type => TestsOf(type).Select(test => (Type: type.FullName!, Test: test)))
        .Select(pair => _without.Contains(pair.Type) ? pair.Type
            : _without.Contains($"{pair.Type}.{pair.Test}") ? $"{pair.Type}.{pair.Test}"
            : null)
        .OfType<string>()
        .CountBy(name => name)
        .ToDictionary();

    private string[] Unknown()
    {
        Type[] types = [.. _tests.GetTypes().Where(type => TestsOf(type).Any())];
        HashSet<string> known =
        [
            .. types.Select(type => type.FullName!),
            .. types.SelectMany(type => TestsOf(type).Select(test => $"{type.FullName}.{test}")),
        ];
        return
        [
            .. plan.Without.Where(name =>
                name.StartsWith($"{plan.Assembly}.", StringComparison.Ordinal) && !known.Contains(name)),
            .. plan.Later.Where(space =>
                space.StartsWith($"{plan.Assembly}.", StringComparison.Ordinal)
                && !types.Any(type => IsIn(type, space))),
        ];
    }

    private static IEnumerable<string> TestsOf(Type type) => type.IsAbstract && !type.IsSealed ? [] : type
        .GetMethods(
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance)
        .Where(method => method.GetCustomAttribute<FactAttribute>() is not null)
        .Select(method => method.Name);
}
