namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A network that harms a conversation at each of its octets, where nothing protects it.</summary>
public static class FaultTests
{
    public static TheoryData<string, FaultKind, int> Faults
    {
        get
        {
            TheoryData<string, FaultKind, int> data = [];
            foreach (string endpoint in new[]
            {
                "ncacn_ip_tcp:127.0.0.1[0]", "http://127.0.0.1:0/", "grpc://127.0.0.1:0",
            })
            {
                data.Add(endpoint, FaultKind.Cut, 1);
                data.Add(endpoint, FaultKind.Reset, 3);
                data.Add(endpoint, FaultKind.Flip, 2);
                data.Add(endpoint, FaultKind.Drop, 9);
                data.Add(endpoint, FaultKind.Duplicate, 3);
                data.Add(endpoint, FaultKind.Swap, 17);
                data.Add(endpoint, FaultKind.Delay, 61);
                data.Add(endpoint, FaultKind.Stall, 41);
                data.Add(endpoint, FaultKind.Drip, 1000);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Faults))]
    public static async Task A_call_has_one_end_and_runs_once(string endpoint, FaultKind kind, int step) =>
        await FaultReport.TryAsync(FaultSetup.Plain(endpoint), kind, step);
}
