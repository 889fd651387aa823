using Xunit;
using Xunit.Abstractions;

namespace ProtoRpc.WindowsTests;

/// <summary>Writes what xunit tells of the tests of one class into the journal.</summary>
internal sealed class TestSink(TestJournal journal) : LongLivedMarshalByRefObject, IMessageSink
{
    public List<ITestCase> Cases { get; } = [];

    /// <summary>The tests that failed, and are not in the journal.</summary>
    public List<ITestCase> Failed { get; } = [];

    /// <summary>Whether failures are written into the journal.</summary>
    public bool IsLast { get; init; }

    public ManualResetEventSlim Discovered { get; } = new();

    public ManualResetEventSlim Finished { get; } = new();

    public bool OnMessage(IMessageSinkMessage message)
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
                journal.BeginTest(starting.Test.DisplayName, starting.TestCase.UniqueID);
                break;
            case ITestPassed passed:
                journal.Write(new { kind = "passed", name = passed.Test.DisplayName });
                break;
            case ITestSkipped skipped:
                journal.Write(
                    new { kind = "skipped", name = skipped.Test.DisplayName, message = skipped.Reason });
                break;
            case ITestFailed failed when IsLast:
                Fail(failed.Test.DisplayName, failed.TestCase.UniqueID, failed);
                break;
            case ITestFailed failed:
                if (!Failed.Contains(failed.TestCase))
                {
                    Failed.Add(failed.TestCase);
                }

                break;
            case ITestCaseFinished finished when IsLast || !Failed.Contains(finished.TestCase):
                journal.Write(new { kind = "caseEnd", id = finished.TestCase.UniqueID });
                break;
            // Errors of the runner, and of fixtures that fail to be disposed.
            case IFailureInformation error:
                Fail("outside of a test", null, error);
                break;
            case ITestAssemblyFinished:
                Finished.Set();
                break;
            default:
                break;
        }

        return true;
    }

    private void Fail(string name, string? id, IFailureInformation failure) => journal.Write(new
    {
        kind = "failed",
        name,
        id,
        message = $"{failure.ExceptionTypes[0]}: {failure.Messages[0]}\n{failure.StackTraces[0]}".Trim(),
    });
}
