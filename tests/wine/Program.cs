using System.Text.Json;
using ProtoRpc.WineTests;

// Runs tests in this process, where there is no SDK and so no 'dotnet test':
//   WineTests PLAN JOURNAL
TestPlan plan = JsonSerializer.Deserialize<TestPlan>(File.ReadAllText(args[0]))
    ?? throw new FormatException($"'{args[0]}' is empty.");
using TestJournal journal = new(args[1]);
new XunitRun(plan, journal).Run();
// A test may leave a thread behind that would keep the process.
Environment.Exit(0);
