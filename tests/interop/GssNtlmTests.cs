using System.Net;
using System.Text;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Interop;

/// <summary>Our NTLM against gss-ntlmssp's, with a file of accounts: tokens,
/// signatures and encrypted messages.</summary>
public static class GssNtlmTests
{
    private const string Domain = "CORP";
    private const string User = "bob";
    private const string Password = "Pa55word";
    private static readonly byte[] Message = Encoding.UTF8.GetBytes("the launch code is 00000000");

    [PeerFact(Peer.GssNtlm)]
    public static async Task Its_client_is_let_in_and_both_protect_alike()
    {
        using GssNtlmPeer peer = await GssNtlmPeer.InitiateAsync(Domain, User, Password);
        using NtlmServerContext ours = NewServer();

        await LetInAsync(peer, ours);

        Assert.True(peer.IsComplete);
        Assert.True(ours.IsComplete);
        Assert.Equal(@"CORP\bob", ours.Identity.Name);
        await ExchangeAsync(peer, ours);
    }

    [PeerFact(Peer.GssNtlm)]
    public static async Task Its_client_with_a_wrong_password_is_refused()
    {
        using GssNtlmPeer peer = await GssNtlmPeer.InitiateAsync(Domain, User, "guessed");
        using NtlmServerContext ours = NewServer();

        RpcException e = await Assert.ThrowsAsync<RpcException>(() => LetInAsync(peer, ours));

        Assert.Equal("AuthenticationFailed", e.ErrorId);
        Assert.Contains(@"'CORP\bob' is unknown to this server, or the password is wrong", e.Message);
    }

    [PeerFact(Peer.GssNtlm)]
    public static async Task Its_clients_last_token_is_refused_by_another_connection()
    {
        using GssNtlmPeer peer = await GssNtlmPeer.InitiateAsync(Domain, User, Password);
        using NtlmServerContext first = NewServer();
        using NtlmServerContext second = NewServer();
        byte[] negotiate = await peer.StepAsync([]);
        byte[] token = await peer.StepAsync(first.Step(negotiate));
        second.Step(negotiate);
        first.Step(token);

        RpcException e = Assert.Throws<RpcException>(() => second.Step(token));

        Assert.Equal("AuthenticationFailed", e.ErrorId);
    }

    [PeerFact(Peer.GssNtlm)]
    public static async Task Its_server_lets_our_client_in_and_both_protect_alike()
    {
        using GssNtlmPeer peer = await GssNtlmPeer.AcceptAsync(Domain, User, Password);
        using NtlmClientContext ours = NewClient(Password);

        await GetInAsync(ours, peer);

        Assert.True(peer.IsComplete);
        Assert.Equal(@"CORP\bob", await peer.WhoAsync());
        await ExchangeAsync(peer, ours);
    }

    [PeerFact(Peer.GssNtlm)]
    public static async Task Its_server_refuses_our_client_with_a_wrong_password()
    {
        using GssNtlmPeer peer = await GssNtlmPeer.AcceptAsync(Domain, User, Password);
        using NtlmClientContext ours = NewClient("guessed");

        byte[] challenge = await peer.StepAsync(ours.Step([]));
        byte[] token = ours.Step(challenge);

        GssNtlmException e = await Assert.ThrowsAsync<GssNtlmException>(() => peer.StepAsync(token));

        Assert.DoesNotContain("decode", e.Message);
        Assert.False(peer.IsComplete);
    }

    // Each way twice: counts and streams go on.
    private static async Task ExchangeAsync(GssNtlmPeer peer, NtlmContext ours)
    {
        byte[] signature = new byte[ours.SignatureSize(encrypted: false)];
        for (int i = 0; i < 2; i++)
        {
            ours.Protect([.. Message], default, encrypt: false, signature);
            await peer.VerifyAsync(Message, signature);
            byte[] theirs = await peer.SignAsync(Message);
            Assert.True(ours.Unprotect([.. Message], default, encrypted: false, theirs));

            byte[] secret = [.. Message];
            ours.Protect(secret, .., encrypt: true, signature);
            Assert.NotEqual(Message, secret);
            Assert.Equal(Message, await peer.OpenAsync([.. signature, .. secret]));
            byte[] @sealed = await peer.SealAsync(Message);
            byte[] opened = @sealed[signature.Length..];
            Assert.True(ours.Unprotect(opened, .., encrypted: true, @sealed.AsSpan(0, signature.Length)));
            Assert.Equal(Message, opened);
        }

        byte[] code = await peer.SignAsync(Message);
        code[5] ^= 1;
        Assert.False(ours.Unprotect([.. Message], default, encrypted: false, code));
        ours.Protect([.. Message], default, encrypt: false, signature);
        signature[5] ^= 1;
        await Assert.ThrowsAsync<GssNtlmException>(() => peer.VerifyAsync(Message, signature));
    }

    private static async Task LetInAsync(GssNtlmPeer peer, NtlmServerContext ours)
    {
        byte[] challenge = ours.Step(await peer.StepAsync([]));
        Assert.Empty(ours.Step(await peer.StepAsync(challenge)));
    }

    private static async Task GetInAsync(NtlmClientContext ours, GssNtlmPeer peer)
    {
        byte[] challenge = await peer.StepAsync(ours.Step([]));
        Assert.Empty(await peer.StepAsync(ours.Step(challenge)));
    }

    private static NtlmServerContext NewServer() => new(
        new NtlmAccountTable([NtlmAccount.From(new NetworkCredential(User, Password, Domain))]),
        new NtlmServerOptions());

    private static NtlmClientContext NewClient(string password) => new(
        NtlmCredential.From(new NetworkCredential(User, password, Domain)),
        new NtlmClientOptions { TargetName = "host/server", Workstation = "CLIENT" });
}
