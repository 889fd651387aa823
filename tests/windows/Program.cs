using System.Reflection;
using ProtoRpc.Tests.Transports.Lrpc;
using ProtoRpc.WindowsTests;

if (args is [LrpcProgram.Verb, string name])
{
    LrpcProgram.Run(name);
    return;
}

// Runs unit tests in this process, where there is no SDK and so no 'dotnet test':
//   WindowsTests REPORT PART-OF-NAME NAMESPACE...
TestSink sink = new();
XunitRun.Run(
    Assembly.Load("ProtoRpc.Tests"),
    name => name.Contains(args[1], StringComparison.Ordinal)
        && args[2..].Any(space => name.StartsWith(space, StringComparison.Ordinal)),
    sink);
File.WriteAllText(args[0], sink.ToJson());
