using System.Text.Json;
using Microsoft.Win32;
using ProtoRpc.Tests.Transports.Lrpc;
using ProtoRpc.WindowsTests;

if (args is [LrpcProgram.Verb, string name])
{
    LrpcProgram.Run(name);
    return;
}

// Runs tests in this process, where there is no SDK and so no 'dotnet test':
//   WindowsTests PLAN JOURNAL
TestPlan plan = JsonSerializer.Deserialize<TestPlan>(File.ReadAllText(args[0]))
    ?? throw new FormatException($"'{args[0]}' is empty.");
AppContext.SetSwitch("ProtoRpc.Tests.OneKey", true);
if (OperatingSystem.IsWindows())
{
    // Wine keeps the key of an earlier process here, and its SChannel would use it for new certificates.
    Registry.CurrentUser.DeleteSubKeyTree(@"Software\Wine\Crypto\RSA", throwOnMissingSubKey: false);
}

Environment.SetEnvironmentVariable(PeerRequest.Variable, plan.Peers);
using TestJournal journal = new(args[1]);
await new XunitRun(plan, journal).RunAsync();
// A test may leave a thread behind that would keep the process.
Environment.Exit(0);
