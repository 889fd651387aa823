using System.Buffers;
using System.Net;
using ProtoRpc.Client.Native;
using ProtoRpc.Security.Gss;

namespace ProtoRpc.Interop;

/// <summary>Kerberos by Windows' SSPI, as Wine has it, against GSSAPI here, with a real KDC.</summary>
[Collection(nameof(KerberosRealm))]
public sealed class SspiKerberosTests(KerberosRealm realm, WinePrefix wine) : IClassFixture<WinePrefix>
{
    private const int Header = 24;
    private const int Trailer = 8;

    private static readonly RpcServerSecurity Demanding = new()
    {
        Authentication = RpcAuthentication.Kerberos,
        MinimumLevel = RpcProtectionLevel.Connect,
    };

    private static readonly string[] Alice =
        [$@"{KerberosRealm.Realm}\{KerberosRealm.User}", KerberosRealm.Password];
    private static readonly string AliceName = $"{KerberosRealm.User}@{KerberosRealm.Realm}";

    [PeerFact(Peer.WineKerberos)]
    public async Task Its_client_is_let_in_and_both_protect_alike()
    {
        realm.LogIn("1h");
        using GssCredential keys = GssCredential.OfService(KerberosRealm.Service);
        using KerberosContext ours = KerberosContext.ForServer(keys);
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "initiate", "Kerberos", KerberosRealm.Service);

        await LetInAsync(peer, ours);

        Assert.True(peer.IsComplete && ours.IsComplete);
        Assert.Equal(AliceName, ours.Identity.Name);
        Assert.Equal("mechanism Kerberos", string.Join(' ', await peer.AskAsync("mechanism")));
        await ExchangeAsync(peer, ours);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task Any_turned_bit_shows_to_it()
    {
        realm.LogIn("1h");
        using GssCredential keys = GssCredential.OfService(KerberosRealm.Service);
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "initiate", "Kerberos", KerberosRealm.Service);
        foreach ((string unprotect, bool encrypts, bool inData) in new[]
        {
            ("verify", false, true), ("verify", false, false), ("open", true, true), ("open", true, false),
        })
        {
            await peer.AskAsync("again");
            using KerberosContext ours = KerberosContext.ForServer(keys);
            await LetInAsync(peer, ours);
            byte[] pdu = new byte[Header + 32 + Trailer];
            byte[] signature = new byte[ours.SignatureSize(encrypts)];
            ours.Protect(pdu, Header..^Trailer, encrypts, signature);
            (inData ? pdu.AsSpan(Header + 3) : signature.AsSpan(^1..))[0] ^= 0x10;

            Assert.False(await peer.UnprotectAsync(unprotect, pdu, signature), $"{unprotect} {inData}");
        }
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task Its_server_lets_our_client_in_and_both_protect_alike()
    {
        realm.LogIn("1h");
        using KerberosContext ours = KerberosContext.ForClient(GssCredential.OfSelf(), KerberosRealm.Service);
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "accept", "Kerberos");

        byte[] third = ours.Step(await peer.StepAsync(ours.Step(default)));
        Assert.Empty(await peer.StepAsync(third));

        Assert.True(peer.IsComplete && ours.IsComplete);
        await ExchangeAsync(peer, ours);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task Its_server_lets_nobody_in_who_might_have_asked_for_another_service()
    {
        realm.LogIn("1h");
        using KerberosContext ours = KerberosContext.ForClient(GssCredential.OfSelf(), KerberosRealm.Service);
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "accept", "Kerberos", KerberosRealm.Service);
        byte[] third = ours.Step(await peer.StepAsync(ours.Step(default)));

        // Wine does not tell what a caller asked for.
        string answer = string.Join(' ', await peer.AskAsync("step", third));

        Assert.StartsWith("error AuthenticationFailed Kerberos: ", answer, StringComparison.Ordinal);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task Its_server_that_cannot_tell_the_caller_says_so()
    {
        realm.LogIn("1h");
        using KerberosContext ours = KerberosContext.ForClient(GssCredential.OfSelf(), KerberosRealm.Service);
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "accept", "Kerberos");
        await peer.StepAsync(ours.Step(await peer.StepAsync(ours.Step(default))));

        // Wine has no tokens of callers.
        string answer = string.Join(' ', await peer.AskAsync("who"));

        Assert.StartsWith("error AuthenticationFailed Kerberos: ", answer, StringComparison.Ordinal);
        Assert.Contains("SEC_E_UNSUPPORTED_FUNCTION", answer, StringComparison.Ordinal);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task Its_server_refuses_a_token_that_is_none()
    {
        using SspiPeer peer = await SspiPeer.StartAsync(wine, "accept", "Kerberos");

        string answer = string.Join(' ', await peer.AskAsync("step", [0x60, 1, 2, 3]));

        Assert.StartsWith("error AuthenticationFailed Kerberos: ", answer, StringComparison.Ordinal);
        Assert.Contains("SEC_E_INVALID_TOKEN", answer, StringComparison.Ordinal);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task The_own_account_calls_our_listener()
    {
        realm.LogIn("1h");
        await using EchoListener echo = new(Demanding);

        Assert.Equal("reply 0 0102", await SspiPeer.CallAsync(wine, echo.Port, "Kerberos", "Connect"));
        Assert.Equal(AliceName, echo.LastCaller!.User.Name);
        Assert.Equal(RpcProtectionLevel.Connect, echo.LastCaller.ProtectionLevel);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task A_user_with_a_password_calls_our_listener()
    {
        // Wine puts the ticket there.
        realm.UseTickets("of-wine");
        await using EchoListener echo = new(Demanding);

        Assert.Equal(
            "reply 0 0102", await SspiPeer.CallAsync(wine, echo.Port, ["Kerberos", "Connect", .. Alice]));
        Assert.Equal(AliceName, echo.LastCaller!.User.Name);
    }

    [PeerFact(Peer.WineKerberos)]
    public async Task An_account_without_a_ticket_is_told_so()
    {
        realm.UseTickets("none");
        await using EchoListener echo = new(Demanding);

        string answer = await SspiPeer.CallAsync(wine, echo.Port, "Kerberos", "Connect");

        Assert.StartsWith("error NoCredentials Kerberos cannot be used", answer, StringComparison.Ordinal);
        Assert.Null(echo.LastCaller);
    }

    // Wine tells of no caller who he is, so nobody is let in; a listener must live through it and say so.
    [PeerTheory(Peer.WineKerberos)]
    [InlineData(RpcAuthentication.Kerberos, RpcMechanism.Kerberos)]
    [InlineData(RpcAuthentication.Ntlm, RpcMechanism.Ntlm)]
    [InlineData(RpcAuthentication.Negotiate, RpcMechanism.Negotiate)]
    public async Task A_listener_of_the_system_refuses_whom_it_cannot_tell(
        RpcAuthentication authentication, RpcMechanism mechanism)
    {
        (SspiPeer peer, int port) = await SspiPeer.ListenAsync(wine, authentication);
        using SspiPeer owned = peer;
        RpcClientSecurity security = new()
        {
            Authentication = RpcClientAuthentication.User,
            Credential = new NetworkCredential(AliceName, KerberosRealm.Password),
            Mechanism = mechanism,
        };

        for (int i = 0; i < 2; i++)
        {
            RpcException e = Assert.Throws<RpcException>(() => Call(port, security));
            Assert.Equal(RpcStatusCode.Unauthenticated, e.Code);
            Assert.Equal(
                RpcStatusCode.Unauthenticated,
                Assert.Throws<RpcException>(() => Call(port, RpcClientSecurity.Anonymous)).Code);
            Assert.Equal(["still", "there"], await peer.AskAsync("still there"));
        }
    }

    private static void Call(int port, RpcClientSecurity security)
    {
        using NativeConnectionPool client = NativeConnectionPool.Connect(
            RpcEndpoint.Tcp("127.0.0.1", port), EchoListener.Service, RpcLimits.Default, security);
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write("\u0001"u8);
        exchange.Execute(TimeSpan.FromSeconds(30));
    }

    // Three legs, the last of which is not answered.
    private static async Task LetInAsync(SspiPeer peer, KerberosContext ours)
    {
        byte[] third = await peer.StepAsync(ours.Step(await peer.StepAsync([])));
        Assert.Empty(ours.Step(third));
    }

    // Wine signs no headers, so both sides leave them out here.
    private static async Task ExchangeAsync(SspiPeer peer, KerberosContext ours)
    {
        Assert.Equal(
            Enum.GetNames<RpcProtectionLevel>(), (await peer.AskAsync("supports"))[1..]);
        for (int size = 16; size <= 64; size += 48)
        {
            byte[] plain = new byte[Header + size + Trailer];
            new Random(size).NextBytes(plain);
            foreach ((string protect, string unprotect, bool encrypts) in new[]
            {
                ("sign", "verify", false), ("seal", "open", true),
            })
            {
                byte[] theirs = [.. plain];
                byte[] theirSignature = await peer.ProtectAsync(protect, theirs);
                Assert.Equal(ours.SignatureSize(encrypts), theirSignature.Length);
                Assert.Equal(encrypts, !theirs.AsSpan().SequenceEqual(plain));
                Assert.True(ours.Unprotect(theirs, Header..^Trailer, encrypts, theirSignature));
                Assert.Equal(plain, theirs);

                byte[] mine = [.. plain];
                byte[] mySignature = new byte[ours.SignatureSize(encrypts)];
                ours.Protect(mine, Header..^Trailer, encrypts, mySignature);
                Assert.True(await peer.UnprotectAsync(unprotect, mine, mySignature));
                Assert.Equal(plain, mine);
            }
        }
    }
}
