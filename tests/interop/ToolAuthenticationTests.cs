using System.Net;
using Google.Protobuf;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Interop;

/// <summary><c>protorpc call --auth</c> with a KDC, and with NTLM.</summary>
[Collection(nameof(KerberosRealm))]
public sealed class ToolAuthenticationTests(KerberosRealm realm)
{
    private const string Alice = $"{KerberosRealm.User}@{KerberosRealm.Realm}";
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    [PeerTheory(Peer.Kdc)]
    [InlineData("kerberos", "tcp://127.0.0.1:0")]
    [InlineData("negotiate", "tcp://127.0.0.1:0")]
    [InlineData("negotiate", "http://127.0.0.1:0/")]
    public static async Task A_user_with_a_password_calls(string how, string endpoint)
    {
        await using RpcServer server = Serve(
            RpcAuthentication.Kerberos | RpcAuthentication.Negotiate, endpoint);

        ClientRun run = await CallAsync(
            server, "--auth", how, "--user", $"{Alice}:{KerberosRealm.Password}");

        Assert.Equal(("", 0), (run.Error, run.Code));
        Assert.Contains($"Kerberos {Alice}", run.Output, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Kdc)]
    public async Task The_own_account_calls_with_its_ticket()
    {
        realm.LogIn("1h");
        await using RpcServer server = Serve(RpcAuthentication.Kerberos, "tcp://127.0.0.1:0");

        ClientRun run = await CallAsync(server, "--auth", "self", "--spn", KerberosRealm.Service);

        Assert.Equal(("", 0), (run.Error, run.Code));
        Assert.Contains($"Kerberos {Alice}", run.Output, StringComparison.Ordinal);
    }

    [PeerTheory(Peer.Kdc)]
    [InlineData("--auth", "kerberos", "--user", $"{Alice}:guessed")]
    [InlineData(
        "--auth", "kerberos", "--spn", "host/elsewhere", "--user", $"{Alice}:{KerberosRealm.Password}")]
    public static async Task What_the_KDC_refuses_ends_with_a_status(params string[] options)
    {
        await using RpcServer server = Serve(RpcAuthentication.Kerberos, "tcp://127.0.0.1:0");

        ClientRun run = await CallAsync(server, options);

        Assert.InRange(run.Code, 65, 80);
        Assert.Equal("", run.Output);
        Assert.DoesNotContain("guessed", run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ntlm", "tcp://127.0.0.1:0")]
    [InlineData("negotiate", "tcp://127.0.0.1:0")]
    public static async Task NTLM_needs_no_KDC(string how, string endpoint)
    {
        await using RpcServer server = Serve(
            RpcAuthentication.Ntlm | RpcAuthentication.Negotiate, endpoint);

        ClientRun run = await CallAsync(server, "--auth", how, "--user", @"CORP\bob:Pa55:word");
        ClientRun wrong = await CallAsync(server, "--auth", how, "--user", @"CORP\bob:guessed");
        ClientRun anonymous = await CallAsync(server);

        Assert.Equal(("", 0), (run.Error, run.Code));
        Assert.Contains(@"NTLM CORP\\bob", run.Output, StringComparison.Ordinal);
        Assert.All([wrong, anonymous], failed => Assert.InRange(failed.Code, 65, 80));
        Assert.DoesNotContain("guessed", wrong.Error, StringComparison.Ordinal);
    }

    private static Task<ClientRun> CallAsync(RpcServer server, params string[] options) => ClientRun.RunAsync(
        ["call", $"{server.Endpoints[0]}", "streams.Words/Say", "-d", "{}", "--schema", Schema, .. options]);

    // Replies who called, and how that was found out.
    private static RpcServer Serve(RpcAuthentication authentication, string endpoint) => RpcServer.Create(
        WordsServer.Schema, "streams.Words",
        new RpcServerOptions
        {
            Security = new RpcServerSecurity
            {
                Authentication = authentication,
                NtlmAccounts = authentication.HasFlag(RpcAuthentication.Ntlm)
                    ? [NtlmAccount.From(new NetworkCredential("bob", "Pa55:word", "CORP"))]
                    : [],
            },
        }.WithHttp(null))
        .Handle("Say", (context, _) => ValueTask.FromResult<IMessage>(
            WordsServer.Text($"{context.User.AuthenticationType} {context.User.Name}")))
        .AddEndpoint(endpoint)
        .StartListening();
}
