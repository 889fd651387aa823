using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Http.Tests.Faults;

namespace ProtoRpc.Interop;

/// <summary>A network that harms or repeats conversations of callers who authenticate with Kerberos, with a
/// real KDC.</summary>
[Collection(nameof(KerberosRealm))]
public sealed class KerberosFaultTests(KerberosRealm realm)
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    private const string Http = "http://127.0.0.1:0/";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private static readonly (string Endpoint, RpcMechanism Mechanism, RpcProtectionLevel Level)[] Setups =
    [
        (Tcp, RpcMechanism.Kerberos, RpcProtectionLevel.Connect),
        (Tcp, RpcMechanism.Kerberos, RpcProtectionLevel.Integrity),
        (Tcp, RpcMechanism.Kerberos, RpcProtectionLevel.Privacy),
        (Tcp, RpcMechanism.Negotiate, RpcProtectionLevel.Integrity),
        (Tcp, RpcMechanism.Negotiate, RpcProtectionLevel.Privacy),
        (Http, RpcMechanism.Negotiate, RpcProtectionLevel.Connect),
    ];

    public static TheoryData<string, RpcMechanism, RpcProtectionLevel> Conversations
    {
        get
        {
            TheoryData<string, RpcMechanism, RpcProtectionLevel> data = [];
            foreach ((string endpoint, RpcMechanism mechanism, RpcProtectionLevel level) in Setups)
            {
                data.Add(endpoint, mechanism, level);
            }

            return data;
        }
    }

    public static TheoryData<string, RpcMechanism, RpcProtectionLevel, FaultKind, int> Faults
    {
        get
        {
            TheoryData<string, RpcMechanism, RpcProtectionLevel, FaultKind, int> data = [];
            foreach ((string endpoint, RpcMechanism mechanism, RpcProtectionLevel level) in Setups)
            {
                data.Add(endpoint, mechanism, level, FaultKind.Cut, 5);
                data.Add(endpoint, mechanism, level, FaultKind.Reset, 23);
                data.Add(endpoint, mechanism, level, FaultKind.Flip, 5);
                data.Add(endpoint, mechanism, level, FaultKind.Drop, 97);
                data.Add(endpoint, mechanism, level, FaultKind.Duplicate, 31);
                data.Add(endpoint, mechanism, level, FaultKind.Swap, 37);
                data.Add(endpoint, mechanism, level, FaultKind.Stall, 409);
                data.Add(endpoint, mechanism, level, FaultKind.Delay, 211);
                data.Add(endpoint, mechanism, level, FaultKind.Drip, 3000);
            }

            return data;
        }
    }

    [PeerTheory(Peer.Kdc)]
    [MemberData(nameof(Faults))]
    public async Task A_call_has_one_end_and_runs_as_asked(
        string endpoint, RpcMechanism mechanism, RpcProtectionLevel level, FaultKind kind, int step)
    {
        realm.LogIn("1h");
        await FaultReport.TryAsync(Setup(endpoint, mechanism, level), kind, step);
    }

    [PeerTheory(Peer.Kdc)]
    [MemberData(nameof(Conversations))]
    public async Task A_conversation_that_is_sent_again_calls_nothing(
        string endpoint, RpcMechanism mechanism, RpcProtectionLevel level)
    {
        realm.LogIn("1h");
        FaultSetup setup = Setup(endpoint, mechanism, level);
        ConcurrentQueue<string> run = [];
        await using RpcServer server = RpcServer.Create(SearchServer.Schema, null, setup.Server.WithHttp())
            .Handle("Search", (_, request) =>
            {
                run.Enqueue(SearchServer.TextOf(request));
                return new(SearchServer.Found("x"));
            })
            .AddEndpoint(setup.Endpoint)
            .StartListening();
        IReadOnlyList<(bool FromClient, byte[] Bytes)> said;
        using (RecordingRelay relay = new(server.Endpoints[0].Port))
        {
            using (RpcClient client = RpcClient.Connect(
                server.Endpoints[0].WithPort(relay.Port), SearchServer.Schema,
                setup.Client with { Lazy = true }))
            {
                await client.InvokeAsync("Search", new { query = "once" });
            }

            said = await relay.WaitAsync();
        }

        await RepeatAsync(server.Endpoints[0].Port, said);

        Assert.Equal(["once"], run);
    }

    // Says everything that the client said, and reads until the server has no more to say.
    private static async Task RepeatAsync(int port, IReadOnlyList<(bool FromClient, byte[] Bytes)> said)
    {
        using Socket again = FaultRelay.NewSocket(new IPEndPoint(IPAddress.Loopback, 0));
        await again.ConnectAsync(IPAddress.Loopback, port);
        try
        {
            foreach ((_, byte[] bytes) in said.Where(part => part.FromClient))
            {
                await again.SendAsync(bytes);
            }

            again.Shutdown(SocketShutdown.Send);
            byte[] answer = new byte[4096];
            using CancellationTokenSource patience = new(Patience);
            while (await again.ReceiveAsync(answer, patience.Token) > 0)
            {
            }
        }
        catch (SocketException)
        {
            // The server has closed the connection, which is one way to refuse it.
        }
    }

    private static FaultSetup Setup(string endpoint, RpcMechanism mechanism, RpcProtectionLevel level) =>
        FaultSetup.Authenticated(
            endpoint, mechanism, level,
            new RpcServerSecurity
            {
                Authentication = mechanism == RpcMechanism.Kerberos
                    ? RpcAuthentication.Kerberos
                    : RpcAuthentication.Negotiate,
            },
            new RpcClientSecurity { Authentication = RpcClientAuthentication.Self }) with
        {
            Name = $"{(mechanism == RpcMechanism.Kerberos ? "Kerberos" : "SPNEGO with Kerberos")}, {level}",
        };
}
