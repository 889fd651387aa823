namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A network that harms conversations over TLS, where no harmed octet is ever taken for a request or
/// a reply, and HTTP requests of callers who authenticate.</summary>
public static class SecuredFaultTests
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";

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
    [MemberData(nameof(Encrypted))]
    public static async Task A_call_over_TLS_has_one_end_and_runs_as_asked(
        string endpoint, FaultKind kind, int step) =>
        await FaultReport.TryAsync(FaultSetup.Tls(endpoint), kind, step);

    [Theory]
    [InlineData(FaultKind.Cut, 23)]
    [InlineData(FaultKind.Flip, 29)]
    [InlineData(FaultKind.Stall, 401)]
    [InlineData(FaultKind.Swap, 67)]
    [InlineData(FaultKind.Delay, 101)]
    [InlineData(FaultKind.Drip, 500)]
    public static async Task A_call_over_HTTP_that_proves_who_calls_has_one_end(FaultKind kind, int step) =>
        await FaultReport.TryAsync(
            FaultSetup.Ntlm("http://127.0.0.1:0/", RpcMechanism.Ntlm, RpcProtectionLevel.Connect), kind,
            step);
}
