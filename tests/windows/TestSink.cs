using Xunit.Sdk;

namespace ProtoRpc.WindowsTests;

/// <summary>Writes what xunit tells of the tests of one class into the journal.</summary>
/// <param name="journal">The journal.</param>
/// <param name="isLast">Whether failures are written into the journal.</param>
internal sealed class TestSink(TestJournal journal, bool isLast) : IMessageSink
{
    private readonly Dictionary<string, string> _names = [];
    private readonly HashSet<string> _failed = [];

    /// <summary>The ids of the tests that failed, and are not in the journal.</summary>
    public IReadOnlySet<string> Failed => _failed;

    public bool OnMessage(IMessageSinkMessage message)
    {
        switch (message)
        {
            case ITestStarting starting:
                _names[starting.TestUniqueID] = starting.TestDisplayName;
                journal.BeginTest(starting.TestDisplayName, starting.TestCaseUniqueID);
                break;
            case ITestPassed passed:
                journal.Write(new { kind = "passed", name = NameOf(passed) });
                break;
            case ITestSkipped skipped:
                journal.Write(new { kind = "skipped", name = NameOf(skipped), message = skipped.Reason });
                break;
            case ITestFailed failed when isLast:
                Fail(NameOf(failed), failed.TestCaseUniqueID, failed);
                break;
            case ITestFailed failed:
                _failed.Add(failed.TestCaseUniqueID);
                break;
            case ITestCaseFinished finished when !_failed.Contains(finished.TestCaseUniqueID):
                journal.Write(new { kind = "caseEnd", id = finished.TestCaseUniqueID });
                break;
            // Errors of the runner, and of fixtures that fail to be disposed.
            case IErrorMetadata error:
                Fail("outside of a test", null, error);
                break;
            default:
                break;
        }

        return true;
    }

    private string NameOf(ITestMessage message) =>
        _names.GetValueOrDefault(message.TestUniqueID, message.TestUniqueID);

    private void Fail(string name, string? id, IErrorMetadata failure) => journal.Write(new
    {
        kind = "failed",
        name,
        id,
        message = $"{failure.ExceptionTypes[0]}: {failure.Messages[0]}\n{failure.StackTraces[0]}".Trim(),
    });
}
