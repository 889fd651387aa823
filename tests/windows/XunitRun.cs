using System.Reflection;
using Xunit.Abstractions;
using Xunit.Sdk;

namespace ProtoRpc.WindowsTests;

/// <summary>Runs the tests of an assembly with xunit's own framework.</summary>
internal static class XunitRun
{
    /// <param name="tests">The assembly.</param>
    /// <param name="isWanted">Whether to run the test of a name.</param>
    /// <param name="sink">Told what came of them.</param>
    public static void Run(Assembly tests, Predicate<string> isWanted, TestSink sink)
    {
        FrameworkOptions options = new();
        using XunitTestFramework framework = new(sink);
        using ITestFrameworkDiscoverer discoverer = framework.GetDiscoverer(Reflector.Wrap(tests));
        discoverer.Find(includeSourceInformation: false, sink, options);
        sink.Discovered.Wait();

        using ITestFrameworkExecutor executor = framework.GetExecutor(tests.GetName());
        executor.RunTests(sink.Cases.Where(test => isWanted(test.DisplayName)), sink, options);
        sink.Finished.Wait();
    }
}
