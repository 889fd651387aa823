using System.Formats.Asn1;
using System.Net;
using ProtoRpc.Security;
using ProtoRpc.Security.Spnego;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Spnego;

public static class SpnegoContextTests
{
    private const string Other = "1.2.3.4.5";

    [Fact]
    public static void Both_sides_agree_on_NTLM_and_protect_with_it()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = NewClient();

        NtlmContextTests.Agree(client, server);

        Assert.Equal(@"DOMAIN\User", server.Identity.Name);
        Assert.Equal("NTLM", server.AuthenticationType);
        for (int i = 0; i < 3; i++)
        {
            Passes(client, server);
            Passes(server, client);
        }
    }

    [Fact]
    public static void A_client_without_SPNEGO_is_answered_in_bare_NTLM()
    {
        using SpnegoServerContext server = NewServer();
        using SecurityContext client = ClientNtlm().Create();

        byte[] challenge = server.Step(client.Step(default));
        byte[] end = server.Step(client.Step(challenge));

        Assert.Equal("NTLMSSP\0"u8, challenge.AsSpan(0, 8));
        Assert.Empty(end);
        Assert.True(server.IsComplete);
        Assert.Equal((@"DOMAIN\User", "NTLM"), (server.Identity.Name, server.AuthenticationType));
        Passes(client, server);
        Passes(server, client);
        Refused(server, challenge, "another token");
    }

    [Fact]
    public static void Bare_NTLM_is_refused_where_NTLM_is_not_offered()
    {
        using SpnegoServerContext server = new([new(Other, () => new Unknown())]);
        using SecurityContext client = ClientNtlm().Create();

        Refused(server, client.Step(default), "NTLM, which this listener does not accept");
        Assert.False(server.IsComplete);
    }

    [Fact]
    public static void Bare_NTLM_is_not_taken_in_the_middle_of_SPNEGO_nor_the_other_way_round()
    {
        using SpnegoServerContext wrapped = NewServer();
        using SpnegoClientContext client = NewClient();
        wrapped.Step(client.Step(default));
        using SpnegoServerContext bare = NewServer();
        using SecurityContext ntlm = ClientNtlm().Create();
        byte[] challenge = bare.Step(ntlm.Step(default));

        Refused(wrapped, ntlm.Step(challenge), "the token");
        Refused(bare, NewClient().Step(default), "NTLM");
        Assert.False(wrapped.IsComplete || bare.IsComplete);
    }

    [Fact]
    public static void The_servers_mechanism_is_taken_where_the_clients_best_is_not_known_there()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new([new(Other, () => new Unknown()), ClientNtlm()]);

        NtlmContextTests.Agree(client, server);

        Assert.Equal("NTLM", client.AuthenticationType);
        Passes(client, server);
    }

    [Fact]
    public static void Who_takes_the_best_mechanism_out_of_the_list_is_found_out()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new([new(Other, () => new Unknown()), ClientNtlm()]);
        client.Step(default);
        byte[] shortened = new NegTokenInit(
            [], NegTokenInit.EncodeMechanisms([SpnegoOid.Ntlm]), default(ReadOnlyMemory<byte>?)).ToBytes();

        byte[] token = client.Step(server.Step(shortened));
        token = client.Step(server.Step(token));

        Refused(server, token, "changed in transit");
    }

    [Fact]
    public static void A_client_that_does_not_prove_its_list_is_refused_where_its_best_was_not_taken()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new([new(Other, () => new Unknown()), ClientNtlm()]);
        byte[] token = client.Step(server.Step(client.Step(default)));
        NegTokenResponse last = NegTokenResponse.Read(client.Step(server.Step(token)))!;
        Assert.NotNull(last.MechanismListMic);

        Refused(server, (last with { MechanismListMic = null }).ToBytes(), "sent no proof");
    }

    [Fact]
    public static void A_server_that_does_not_prove_its_choice_is_refused()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new([new(Other, () => new Unknown()), ClientNtlm()]);
        byte[] token = client.Step(server.Step(client.Step(default)));
        token = client.Step(server.Step(token));
        NegTokenResponse end = NegTokenResponse.Read(server.Step(token))!;

        Refused(client, (end with { MechanismListMic = null }).ToBytes(), "sent no proof");
    }

    [Fact]
    public static void A_server_cannot_end_before_the_mechanism_does()
    {
        using SpnegoClientContext client = NewClient();
        client.Step(default);

        Refused(
            client, new NegTokenResponse { State = SpnegoState.AcceptCompleted }.ToBytes(),
            "before it was complete");
        Assert.False(client.IsComplete);
    }

    [Fact]
    public static void A_rejection_and_an_unknown_choice_are_told()
    {
        using SpnegoClientContext client = NewClient();
        client.Step(default);

        Refused(client, new NegTokenResponse { State = SpnegoState.Reject }.ToBytes(), "rejects all of NTLM");
        Refused(client, new NegTokenResponse { Mechanism = Other }.ToBytes(), "not offered");
    }

    [Fact]
    public static void A_client_with_unknown_mechanisms_alone_is_refused()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new([new(Other, () => new Unknown())]);

        Refused(server, client.Step(default), "no supported mechanism");
    }

    [Fact]
    public static void A_mechanism_that_cannot_begin_is_not_offered()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = new(
        [
            new(Other, () => throw new RpcException(RpcStatusCode.Unauthenticated, "no ticket")),
            ClientNtlm(),
        ]);

        byte[] first = client.Step(default);

        Assert.Equal([SpnegoOid.Ntlm], NegTokenInit.Read(first)!.Mechanisms);
        Assert.NotEmpty(server.Step(first));
    }

    [Fact]
    public static void When_no_mechanism_can_begin_the_last_says_why()
    {
        using SpnegoClientContext client = new(
            [new(Other, () => throw new RpcException(RpcStatusCode.Unauthenticated, "no ticket"))]);

        Refused(client, default, "no ticket");
    }

    [Fact]
    public static void A_wrong_password_is_refused()
    {
        using SpnegoServerContext server = NewServer();
        using SpnegoClientContext client = NewClient(new NetworkCredential("User", "wrong", "DOMAIN"));

        RpcException error = Assert.Throws<RpcException>(() => NtlmContextTests.Agree(client, server));

        Assert.Contains("password is wrong", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_first_token_of_Windows_with_hints_is_read()
    {
        // negHints stand where a code would, in the first token of [MS-SPNG] section 2.2.1.
        AsnWriter writer = new(AsnEncodingRules.DER);
        using (writer.PushSequence(new Asn1Tag(TagClass.Application, 0, isConstructed: true)))
        {
            writer.WriteObjectIdentifier(SpnegoOid.Spnego);
            using (writer.PushSequence(SpnegoTag.Get(0)))
            using (writer.PushSequence())
            {
                using (writer.PushSequence(SpnegoTag.Get(0)))
                {
                    writer.WriteEncodedValue(
                        NegTokenInit.EncodeMechanisms(
                            ["1.2.840.48018.1.2.2", SpnegoOid.Kerberos, SpnegoOid.Ntlm]));
                }

                using (writer.PushSequence(SpnegoTag.Get(1)))
                {
                    writer.WriteBitString([0x40], 6);
                }

                using (writer.PushSequence(SpnegoTag.Get(2)))
                {
                    writer.WriteOctetString("token"u8);
                }

                using (writer.PushSequence(SpnegoTag.Get(3)))
                using (writer.PushSequence())
                {
                    writer.WriteNull();
                }
            }
        }

        NegTokenInit init = NegTokenInit.Read(writer.Encode())!;

        Assert.True(SpnegoOid.Same(SpnegoOid.Kerberos, init.Mechanisms[0]));
        Assert.Equal("token"u8.ToArray(), init.Token!.Value.ToArray());
    }

    [Fact]
    public static void Tokens_cut_or_damaged_anywhere_never_do_more_than_be_refused()
    {
        byte[] init;
        byte[] challenge;
        byte[] last;
        using (SpnegoServerContext server = NewServer())
        using (SpnegoClientContext client = NewClient())
        {
            init = client.Step(default);
            challenge = server.Step(init);
            last = client.Step(challenge);
        }

        Random random = new(9);
        foreach (byte[] token in new[] { init, challenge, last })
        {
            for (int length = 0; length < token.Length; length++)
            {
                byte[] cut = token[..length];
                Assert.Null(NegTokenInit.Read(cut));
                Assert.Null(NegTokenResponse.Read(cut));
                byte[] damaged = [.. token];
                damaged[length] = (byte)random.Next(256);
                FeedBoth(damaged);
            }
        }

        void FeedBoth(byte[] token)
        {
            using SpnegoServerContext fresh = NewServer();
            using SpnegoServerContext begun = NewServer();
            begun.Step(init);
            using SpnegoClientContext client = NewClient();
            client.Step(default);
            foreach (SecurityContext context in new SecurityContext[] { fresh, begun, client })
            {
                Exception? error = Record.Exception(() => context.Step(token));
                Assert.True(error is null or RpcException, error?.ToString());
                Assert.False(context.IsComplete);
            }
        }
    }

    [Fact]
    public static void Deep_and_endless_structures_are_refused()
    {
        byte[] deep = new byte[60_000];
        deep.AsSpan().Fill(0x30);

        Assert.Null(NegTokenInit.Read(deep));
        Assert.Null(NegTokenResponse.Read(deep));
        Assert.Null(NegTokenInit.Read(new byte[] { 0x60, 0x80, 0x06, 0x80 }));
        Assert.Null(NegTokenResponse.Read(new byte[] { 0xA1, 0x84, 0xFF, 0xFF, 0xFF, 0xFF }));
    }

    private static SpnegoServerContext NewServer() =>
        new([new(SpnegoOid.Ntlm, () => NtlmVectors.NewServer())]);

    private static SpnegoClientContext NewClient(NetworkCredential? credential = null) =>
        new([ClientNtlm(credential)]);

    private static SpnegoMechanism ClientNtlm(NetworkCredential? credential = null) =>
        new(SpnegoOid.Ntlm, () => NtlmVectors.NewClient(credential));

    private static void Passes(SecurityContext from, SecurityContext to)
    {
        byte[] text = "plain text"u8.ToArray();
        byte[] signature = new byte[from.SignatureSize(encrypted: true)];
        from.Protect(text, .., encrypt: true, signature);
        Assert.NotEqual("plain text"u8.ToArray(), text);
        Assert.True(to.Unprotect(text, .., encrypted: true, signature));
        Assert.Equal("plain text"u8.ToArray(), text);
    }

    private static void Refused(SecurityContext context, byte[]? token, string why)
    {
        RpcException error = Assert.Throws<RpcException>(() => context.Step(token));
        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }

    /// <summary>An unknown mechanism with only a first token.</summary>
    private sealed class Unknown : SecurityContext
    {
        public override string AuthenticationType => "Unknown";

        public override bool IsComplete => false;

        public override System.Security.Principal.IIdentity Identity => throw new InvalidOperationException();

        public override byte[] Step(ReadOnlySpan<byte> token) => [1, 2, 3];

        public override bool Supports(RpcProtectionLevel level) => false;

        public override int SignatureSize(bool encrypted) => 0;

        public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature) =>
            throw new InvalidOperationException();

        public override bool Unprotect(
            Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature) => false;

        public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms) => [];

        public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code) =>
            false;

        public override void Dispose()
        {
        }
    }
}
