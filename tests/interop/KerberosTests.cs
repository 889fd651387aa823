using System.Buffers;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client.Native;

namespace ProtoRpc.Interop;

/// <summary>Kerberos with a real KDC: our client and listener with each other.</summary>
[Collection(nameof(KerberosRealm))]
public sealed class KerberosTests(KerberosRealm realm)
{
    private const int BindNak = 13;
    private const int PduType = 2;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private static readonly RpcServerSecurity Demanding = new()
    {
        Authentication = RpcAuthentication.Kerberos | RpcAuthentication.Negotiate,
        MinimumLevel = RpcProtectionLevel.Connect,
    };

    [PeerTheory(Peer.Kdc)]
    [InlineData(RpcMechanism.Kerberos, RpcProtectionLevel.Connect)]
    [InlineData(RpcMechanism.Kerberos, RpcProtectionLevel.Integrity)]
    [InlineData(RpcMechanism.Kerberos, RpcProtectionLevel.Privacy)]
    [InlineData(RpcMechanism.Negotiate, RpcProtectionLevel.Integrity)]
    [InlineData(RpcMechanism.Negotiate, RpcProtectionLevel.Privacy)]
    public static async Task A_user_with_a_password_calls(RpcMechanism mechanism, RpcProtectionLevel level)
    {
        await using EchoListener echo = new(Demanding);
        using NativeConnectionPool client = Connect(
            echo.Port, AsUser() with { Mechanism = mechanism, ProtectionLevel = level });

        foreach (int length in new[] { 0, 1, 5, 1000, 60_000 })
        {
            byte[] bytes = new byte[length];
            new Random(length).NextBytes(bytes);
            using NativeClientCall exchange = client.Begin();
            exchange.Request.Write(bytes);

            Assert.Equal(0, exchange.Execute(Patience));
            Assert.Equal(bytes, exchange.Reply.ToArray());
        }

        Assert.Equal($"{KerberosRealm.User}@{KerberosRealm.Realm}", echo.LastCaller!.User.Name);
        Assert.Equal("Kerberos", echo.LastCaller.User.AuthenticationType);
        Assert.Equal(level, echo.LastCaller.ProtectionLevel);
    }

    [PeerFact(Peer.Kdc)]
    public async Task The_own_account_calls_with_its_ticket()
    {
        realm.LogIn("1h");
        await using EchoListener echo = new(Demanding);

        Assert.Equal(
            "01", Call(echo.Port, new RpcClientSecurity { Authentication = RpcClientAuthentication.Self }));
        Assert.Equal($"{KerberosRealm.User}@{KerberosRealm.Realm}", echo.LastCaller!.User.Name);
    }

    [PeerFact(Peer.Kdc)]
    public async Task A_ticket_of_nobody_is_no_proof()
    {
        realm.LogInAs("WELLKNOWN/ANONYMOUS");
        await using EchoListener echo = new(Demanding);

        Refused(echo, new RpcClientSecurity { Authentication = RpcClientAuthentication.Self });
    }

    // Its signatures without encryption end in a TypeError of its own, so there is no integrity level.
    [PeerCall("impacket", "DCE/RPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Kerberos)]
    [PeerTheory(Peer.ImpacketKerberos)]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public async Task Our_listener_answers_the_client_of_impacket(RpcProtectionLevel level)
    {
        realm.LogInToService("1h");
        await using EchoListener echo = new(Demanding);
        using PeerProcess client = PeerProcess.Start(
            Peers.Python, Path.Combine(AppContext.BaseDirectory, "impacket", "exec_client.py"),
            $"{echo.Port}", EchoListener.Service.ToString(), $"{(int)level}",
            KerberosRealm.Realm, KerberosRealm.User);
        byte[] bytes = new byte[30_000];
        new Random(3).NextBytes(bytes);
        string hex = Convert.ToHexStringLower(bytes);

        Assert.Equal("bound", await client.ReadLineAsync());
        foreach (string payload in new[] { "0102", "", hex, "03" })
        {
            client.WriteLine($"call 0 {payload}");
            Assert.Equal($"reply 0 {payload}", await client.ReadLineAsync());
        }

        Assert.Equal($"{KerberosRealm.User}@{KerberosRealm.Realm}", echo.LastCaller!.User.Name);
        Assert.Equal("Kerberos", echo.LastCaller.User.AuthenticationType);
        Assert.Equal(level, echo.LastCaller.ProtectionLevel);
    }

    [PeerFact(Peer.Kdc)]
    public async Task The_own_account_without_a_ticket_is_told_so()
    {
        realm.UseTickets("none");
        await using EchoListener echo = new(Demanding);

        RpcException e = Refused(
            echo, new RpcClientSecurity { Authentication = RpcClientAuthentication.Self });
        Assert.Contains("credential", e.Message, StringComparison.OrdinalIgnoreCase);
    }

    [PeerFact(Peer.Kdc)]
    public async Task An_expired_ticket_is_refused()
    {
        RpcClientSecurity self = new() { Authentication = RpcClientAuthentication.Self };
        realm.LogIn("1s");
        await using (EchoListener probe = new(Demanding))
        {
            // It holds for as long as clocks may differ.
            DateTime end = DateTime.UtcNow + Patience;
            while (Record.Exception(() => Call(probe.Port, self)) is null && DateTime.UtcNow < end)
            {
                await Task.Yield();
            }
        }

        await using EchoListener echo = new(Demanding);

        RpcException e = Refused(echo, self);
        Assert.Contains("expired", e.Message, StringComparison.OrdinalIgnoreCase);
    }

    [PeerFact(Peer.Kdc)]
    public static async Task A_wrong_password_is_refused()
    {
        await using EchoListener echo = new(Demanding);

        RpcException e = Refused(echo, AsUser(password: "guessed"));
        Assert.Matches("(?i)password|preauthentication", e.Message);
    }

    [PeerFact(Peer.Kdc)]
    public static async Task A_wrong_realm_is_refused()
    {
        await using EchoListener echo = new(Demanding);

        RpcException e = Refused(echo, AsUser(user: "alice@OTHER.EXAMPLE"));
        Assert.Contains("OTHER.EXAMPLE", e.Message, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Kdc)]
    public static async Task A_service_that_the_realm_does_not_know_is_refused()
    {
        await using EchoListener echo = new(Demanding);

        RpcException e = Refused(echo, AsUser() with { ServicePrincipalName = "host/elsewhere" });
        Assert.Contains("not found in Kerberos database", e.Message, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Kdc)]
    public static async Task A_repeated_token_is_refused()
    {
        await using EchoListener echo = new(Demanding);
        using RecordingRelay relay = new(echo.Port);
        Assert.Equal("01", Call(relay.Port, AsUser()));
        byte[] bind = (await relay.WaitAsync()).First(said => said.FromClient).Bytes;

        using TcpClient again = new();
        await again.ConnectAsync(IPAddress.Loopback, echo.Port);
        await again.GetStream().WriteAsync(bind);
        byte[] answer = new byte[16];
        await again.GetStream().ReadExactlyAsync(answer);

        Assert.Equal(BindNak, answer[PduType]);
    }

    [PeerFact(Peer.Kdc)]
    public void A_listener_without_a_key_does_not_start()
    {
        realm.UseKeytab("/nowhere/keytab");
        try
        {
            RpcException e = Assert.Throws<RpcException>(() => new EchoListener(Demanding));
            Assert.Equal("NoKerberosKey", e.ErrorId);
        }
        finally
        {
            realm.UseKeytab(realm.Keytab);
        }
    }

    private static RpcClientSecurity AsUser(string? user = null, string password = KerberosRealm.Password) =>
        new()
        {
            Authentication = RpcClientAuthentication.User,
            Credential = new NetworkCredential(
                user ?? $"{KerberosRealm.User}@{KerberosRealm.Realm}", password),
            Mechanism = RpcMechanism.Kerberos,
        };

    private static NativeConnectionPool Connect(int port, RpcClientSecurity security) =>
        NativeConnectionPool.Connect(
        RpcEndpoint.Tcp("127.0.0.1", port), EchoListener.Service, RpcLimits.Default, security);

    private static string Call(int port, RpcClientSecurity security)
    {
        using NativeConnectionPool client = Connect(port, security);
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write("\u0001"u8);
        Assert.Equal(0, exchange.Execute(Patience));
        return Convert.ToHexString(exchange.Reply.Span);
    }

    private static RpcException Refused(EchoListener echo, RpcClientSecurity security)
    {
        RpcException e = Assert.Throws<RpcException>(() => Call(echo.Port, security));
        Assert.Equal(RpcStatusCode.Unauthenticated, e.Code);
        Assert.Equal("AuthenticationFailed", e.ErrorId);
        Assert.Null(echo.LastCaller);
        return e;
    }
}
