namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A network that harms conversations of callers who authenticate, and those over TLS. Where
/// integrity is protected, no harmed octet is ever taken for a request or a reply.</summary>
public static class SecuredFaultTests
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";

    public static TheoryData<RpcMechanism, RpcProtectionLevel, FaultKind, int> Authenticated
    {
        get
        {
            TheoryData<RpcMechanism, RpcProtectionLevel, FaultKind, int> data = [];
            foreach ((RpcMechanism mechanism, RpcProtectionLevel level) in new[]
            {
                (RpcMechanism.Ntlm, RpcProtectionLevel.Connect),
                (RpcMechanism.Ntlm, RpcProtectionLevel.Integrity),
                (RpcMechanism.Ntlm, RpcProtectionLevel.Privacy),
                (RpcMechanism.Negotiate, RpcProtectionLevel.Integrity),
            })
            {
                data.Add(mechanism, level, FaultKind.Cut, 1);
                data.Add(mechanism, level, FaultKind.Reset, 11);
                data.Add(mechanism, level, FaultKind.Flip, level == RpcProtectionLevel.Connect ? 7 : 1);
                data.Add(mechanism, level, FaultKind.Drop, 47);
                data.Add(mechanism, level, FaultKind.Duplicate, 3);
                data.Add(mechanism, level, FaultKind.Swap, 23);
                data.Add(mechanism, level, FaultKind.Delay, 251);
                data.Add(mechanism, level, FaultKind.Stall, 181);
                data.Add(mechanism, level, FaultKind.Drip, 1000);
            }

            return data;
        }
    }

    public static TheoryData<string, FaultKind, int> Encrypted
    {
        get
        {
            TheoryData<string, FaultKind, int> data = [];
            foreach (string endpoint in new[] { Tcp, "https://127.0.0.1:0/", "grpcs://127.0.0.1:0" })
            {
                data.Add(endpoint, FaultKind.Cut, 3);
                data.Add(endpoint, FaultKind.Reset, 31);
                data.Add(endpoint, FaultKind.Flip, 3);
                data.Add(endpoint, FaultKind.Drop, 73);
                data.Add(endpoint, FaultKind.Duplicate, 17);
                data.Add(endpoint, FaultKind.Swap, 61);
                data.Add(endpoint, FaultKind.Delay, 401);
                data.Add(endpoint, FaultKind.Stall, 307);
                data.Add(endpoint, FaultKind.Drip, 2000);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Authenticated))]
    public static async Task An_authenticated_call_has_one_end_and_runs_as_asked(
        RpcMechanism mechanism, RpcProtectionLevel level, FaultKind kind, int step) =>
        await TryAsync(FaultSetup.Ntlm(Tcp, mechanism, level), kind, step);

    [Theory]
    [MemberData(nameof(Encrypted))]
    public static async Task A_call_over_TLS_has_one_end_and_runs_as_asked(
        string endpoint, FaultKind kind, int step) =>
        await TryAsync(FaultSetup.Tls(endpoint), kind, step);

    [Theory]
    [InlineData(FaultKind.Cut, 23)]
    [InlineData(FaultKind.Flip, 29)]
    [InlineData(FaultKind.Stall, 401)]
    [InlineData(FaultKind.Swap, 67)]
    [InlineData(FaultKind.Delay, 101)]
    [InlineData(FaultKind.Drip, 500)]
    public static async Task A_call_over_HTTP_that_proves_who_calls_has_one_end(FaultKind kind, int step) =>
        await TryAsync(
            FaultSetup.Ntlm("http://127.0.0.1:0/", RpcMechanism.Ntlm, RpcProtectionLevel.Connect), kind,
            step);

    private static async Task TryAsync(FaultSetup setup, FaultKind kind, int step)
    {
        using FaultTrial trial = new(setup);

        FaultCount count = await trial.RunAsync(kind, step);

        FaultReport.Add(setup.Endpoint.Split(':')[0], setup.Name, count);
        Assert.InRange(count.All, 2, 10_000);
    }
}
