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

    public static TheoryData<string, FaultKind, int> LocalFaults
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

    [Theory]
    [MemberData(nameof(Faults))]
    public static async Task A_call_has_one_end_and_runs_once(string endpoint, FaultKind kind, int step)
    {
        using FaultTrial trial = new(FaultSetup.Plain(endpoint));

        FaultCount count = await trial.RunAsync(kind, step);

        FaultReport.Add(endpoint.Split(':')[0], "none", count);
        Assert.InRange(count.All, 2, 10_000);
    }

    [UnixTheory]
    [MemberData(nameof(LocalFaults))]
    public static async Task So_it_is_on_local_sockets(string pattern, FaultKind kind, int step)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string endpoint = pattern
                .Replace("{name}", $"t{Guid.NewGuid():N}"[..12], StringComparison.Ordinal)
                .Replace("{folder}", folder.FullName, StringComparison.Ordinal);
            using FaultTrial trial = new(FaultSetup.Plain(endpoint));

            FaultCount count = await trial.RunAsync(kind, step);

            FaultReport.Add(endpoint.Split(':')[0], "none", count);
            Assert.InRange(count.All, 2, 10_000);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
