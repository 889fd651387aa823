using System.Diagnostics;
using System.Reflection;
using Xunit;
using Xunit.Abstractions;
using Xunit.Sdk;

namespace ProtoRpc.WindowsTests;

/// <summary>Runs tests with xunit's own framework, one class after the other.</summary>
internal sealed class XunitRun(TestPlan plan, TestJournal journal)
{
    private const int Retries = 3;

    private readonly Assembly _tests = Assembly.Load(plan.Assembly);
    private readonly HashSet<string> _without = [.. plan.Without];

    public void Run()
    {
        Type[] all =
        [
            .. _tests.GetTypes().Where(type => IsInSpaces(type) && TestsOf(type).Any())
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
            unknown = knowsAll ? Unknown(all) : [],
        });
        foreach (Type type in wanted)
        {
            journal.BeginClass(type.FullName!);
            Stopwatch watch = Stopwatch.StartNew();
            Run(type);
            journal.Write(
                new { kind = "classEnd", name = type.FullName, seconds = watch.Elapsed.TotalSeconds });
        }

        journal.Write(new { kind = "end" });
    }

    private void Run(Type type)
    {
        FrameworkOptions options = new();
        TestSink sink = new(journal);
        using XunitTestFramework framework = new(sink);
        using ITestFrameworkDiscoverer discoverer = framework.GetDiscoverer(Reflector.Wrap(_tests));
        discoverer.Find(type.FullName, includeSourceInformation: false, sink, options);
        sink.Discovered.Wait();

        using ITestFrameworkExecutor executor = framework.GetExecutor(_tests.GetName());
        ITestCase[] cases = [.. sink.Cases.Where(IsWanted)];
        journal.Write(new { kind = "cases", ids = cases.Select(test => test.UniqueID) });
        executor.RunTests(cases, sink, options);
        sink.Finished.Wait();

        // Wine's timing is not that of Windows, and a reset may lose what came before it. Only a test that
        // fails in each try has failed.
        for (int retry = 1; retry <= Retries && sink.Failed.Count > 0; retry++)
        {
            TestSink again = new(journal) { IsLast = retry == Retries };
            executor.RunTests(sink.Failed, again, options);
            again.Finished.Wait();
            sink = again;
        }
    }

    private bool IsWanted(ITestCase test) =>
        plan.Tests?.Contains(test.UniqueID) != false
        && test.DisplayName.Contains(plan.Filter, StringComparison.Ordinal)
        && !_without.Contains($"{test.TestMethod.TestClass.Class.Name}.{test.TestMethod.Method.Name}");

    private IEnumerable<Type> Select(Type[] all) => plan.Classes is { } classes
        ? all.Where(type => classes.Contains(type.FullName))
        : all.Where(type => !_without.Contains(type.FullName!)).Where((_, i) => i % plan.Parts == plan.Part);

    private bool IsInSpaces(Type type) => plan.Spaces is null || plan.Spaces.Any(
        space => $"{type.FullName}.".StartsWith(space, StringComparison.Ordinal));

    private Dictionary<string, int> CountWithout(Type[] all) => all
        .SelectMany(type => TestsOf(type).Select(test => (Type: type.FullName!, Test: test)))
        .Select(pair => _without.Contains(pair.Type) ? pair.Type
            : _without.Contains($"{pair.Type}.{pair.Test}") ? $"{pair.Type}.{pair.Test}"
            : null)
        .OfType<string>()
        .CountBy(name => name)
        .ToDictionary();

    private string[] Unknown(Type[] all)
    {
        HashSet<string> known =
        [
            .. all.Select(type => type.FullName!),
            .. all.SelectMany(type => TestsOf(type).Select(test => $"{type.FullName}.{test}")),
        ];
        return
        [
            .. plan.Without.Where(name =>
                name.StartsWith($"{plan.Assembly}.", StringComparison.Ordinal) && !known.Contains(name)),
        ];
    }

    private static IEnumerable<string> TestsOf(Type type) => type.IsAbstract && !type.IsSealed ? [] : type
        .GetMethods(
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance)
        .Where(method => method.GetCustomAttribute<FactAttribute>() is not null)
        .Select(method => method.Name);
}
