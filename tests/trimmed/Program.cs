using ProtoRpc.TrimmedTests;

// Calls services of this process, in a program without the code that the trimmer left out:
//   TrimmedProgram REPORT PART-OF-NAME
Checks checks = new(args[1]);
await ServerChecks.RunAsync(checks);
await HostChecks.RunAsync(checks);
await StubChecks.RunAsync(checks);
File.WriteAllText(args[0], checks.ToJson());
