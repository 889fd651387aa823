using System.Globalization;
using System.Xml.Linq;

namespace ProtoRpc.TestRun;

/// <summary>Reads what <c>dotnet test --logger trx</c> writes.</summary>
internal static class TrxReport
{
    private static readonly XNamespace Ns = "http://microsoft.com/schemas/VisualStudio/TeamTest/2010";

    /// <exception cref="FormatException">It is not a complete report.</exception>
    public static SuiteResult Read(string suite, string xml)
    {
        XElement root;
        try
        {
            root = XDocument.Parse(xml).Root!;
        }
        catch (System.Xml.XmlException e)
        {
            throw new FormatException($"The report is not XML: {e.Message}", e);
        }

        XElement summary = root.Element(Ns + "ResultSummary")
            ?? throw new FormatException("The report has no ResultSummary: the run did not end.");
        TestCounts counts = default;
        List<TestCase> failures = [];
        List<TestCase> skips = [];
        foreach (XElement result in root.Element(Ns + "Results")?.Elements(Ns + "UnitTestResult") ?? [])
        {
            TestCase test = new(result.Attribute("testName")?.Value ?? "?", MessageOf(result));
            switch (result.Attribute("outcome")?.Value)
            {
                case "Passed":
                    counts += new TestCounts(1, 0, 0);
                    break;
                case "NotExecuted":
                    counts += new TestCounts(0, 0, 1);
                    skips.Add(test);
                    break;
                default:
                    counts += new TestCounts(0, 1, 0);
                    failures.Add(test);
                    break;
            }
        }

        RequireAll(summary, counts);
        SuiteResult read = new(suite, counts, failures, skips);

        // A crash or a fixture that fails leaves no failed test behind, only the summary.
        return summary.Attribute("outcome")?.Value is "Completed" or "Passed" || counts.Failed > 0
            ? read
            : read.WithFailure($"{suite}: the whole run", RunErrors(summary));
    }

    private static void RequireAll(XElement summary, TestCounts counts)
    {
        string? total = summary.Element(Ns + "Counters")?.Attribute("total")?.Value;
        if (total is not null && int.Parse(total, CultureInfo.InvariantCulture) != counts.Total)
        {
            throw new FormatException($"The report counts {total} tests and tells of {counts.Total}.");
        }
    }

    private static string MessageOf(XElement result)
    {
        XElement? error = result.Element(Ns + "Output")?.Element(Ns + "ErrorInfo");
        string message = error?.Element(Ns + "Message")?.Value
            ?? result.Element(Ns + "Output")?.Element(Ns + "StdOut")?.Value ?? "";
        string stack = error?.Element(Ns + "StackTrace")?.Value ?? "";
        return $"{message.Trim()}\n{stack.TrimEnd()}".Trim();
    }

    private static string RunErrors(XElement summary)
    {
        string[] errors =
        [
            .. summary.Descendants(Ns + "RunInfo")
                .Where(info => info.Attribute("outcome")?.Value == "Error")
                .Select(info => info.Element(Ns + "Text")?.Value.Trim() ?? ""),
        ];
        return errors.Length > 0
            ? string.Join('\n', errors)
            : $"the run's outcome is {summary.Attribute("outcome")?.Value}";
    }
}
