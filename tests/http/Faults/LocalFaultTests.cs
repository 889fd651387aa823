namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A conversation on a local socket or pipe that is harmed at each of its octets.</summary>
public static class LocalFaultTests
{
    public static TheoryData<string, FaultKind, int> Faults
    {
        get
        {
            TheoryData<string, FaultKind, int> data = [];
            foreach (string endpoint in new[]
            {
                "ncalrpc:[{name}]", @"ncacn_np:[\pipe\{name}]", "grpc+unix://{folder}/{name}",
            })
            {
                data.Add(endpoint, FaultKind.Cut, 5);
                data.Add(endpoint, FaultKind.Flip, 7);
                data.Add(endpoint, FaultKind.Drop, 31);
                data.Add(endpoint, FaultKind.Duplicate, 11);
                data.Add(endpoint, FaultKind.Swap, 29);
                data.Add(endpoint, FaultKind.Delay, 101);
                data.Add(endpoint, FaultKind.Stall, 101);
                data.Add(endpoint, FaultKind.Drip, 1000);
            }

            return data;
        }
    }

    [UnixTheory]
    [MemberData(nameof(Faults))]
    public static async Task A_call_has_one_end_and_runs_once(string pattern, FaultKind kind, int step)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string endpoint = pattern
                .Replace("{name}", $"t{Guid.NewGuid():N}"[..12], StringComparison.Ordinal)
                .Replace("{folder}", folder.FullName, StringComparison.Ordinal);
            await FaultReport.TryAsync(FaultSetup.Plain(endpoint), kind, step);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
