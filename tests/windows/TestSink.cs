using System.Text.Json;
using Xunit;
using Xunit.Abstractions;

namespace ProtoRpc.WindowsTests;

/// <summary>Collects what xunit tells, for the report that the test runner reads.</summary>
internal sealed class TestSink : LongLivedMarshalByRefObject, IMessageSink
{
    private readonly Lock _gate = new();
    private readonly List<object> _failures = [];
    private readonly List<object> _skips = [];
    private int _passed;

    public List<ITestCase> Cases { get; } = [];

    public ManualResetEventSlim Discovered { get; } = new();

    public ManualResetEventSlim Finished { get; } = new();

    public bool OnMessage(IMessageSinkMessage message)
    {
        lock (_gate)
        {
            switch (message)
            {
                case ITestCaseDiscoveryMessage found:
                    Cases.Add(found.TestCase);
                    break;
                case IDiscoveryCompleteMessage:
                    Discovered.Set();
                    break;
                case ITestStarting starting:
                    // The last lines tell which test hung, if one did.
                    Console.WriteLine(starting.Test.DisplayName);
                    break;
                case ITestPassed:
                    _passed++;
                    break;
                case ITestSkipped skipped:
                    Add(_skips, skipped.Test.DisplayName, skipped.Reason);
                    break;
                case ITestFailed failed:
                    Add(_failures, failed.Test.DisplayName, Text(failed));
                    break;
                case IErrorMessage error:
                    Add(_failures, "outside of a test", Text(error));
                    break;
                case ITestAssemblyFinished:
                    Finished.Set();
                    break;
                default:
                    break;
            }
        }

        return true;
    }

    public string ToJson()
    {
        lock (_gate)
        {
            return JsonSerializer.Serialize(new { passed = _passed, failures = _failures, skips = _skips });
        }
    }

    private static void Add(List<object> list, string name, string message) =>
        list.Add(new { name, message });

    private static string Text(IFailureInformation failure) =>
        $"{failure.Messages[0]}\n{failure.StackTraces[0]}".Trim();
}
