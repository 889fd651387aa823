using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Ntlm;

// What somebody between client and server does to their messages.
public static class NtlmTamperingTests
{
    [Fact]
    public static void Every_octet_of_the_messages_is_covered_by_the_integrity_code()
    {
        byte[] negotiate = [];
        byte[] challenge = [];
        byte[] authenticate = [];
        using (NtlmServerContext server = NtlmVectors.NewServer())
        using (NtlmClientContext client = NtlmVectors.NewClient())
        {
            negotiate = client.Step(default);
            challenge = server.Step(negotiate);
            authenticate = client.Step(challenge);
        }

        byte[] serverChallenge = ChallengeMessage.Read(challenge)!.ServerChallenge;
        int refused = 0;
        for (int i = 0; i < authenticate.Length; i++)
        {
            byte[] changed = [.. authenticate];
            changed[i] ^= 0x40;
            using NtlmServerContext server = NtlmVectors.NewServer(new NtlmServerOptions
            {
                Random = _ => serverChallenge,
                Clock = new NtlmVectors.FixedClock(
                    ChallengeMessage.Read(challenge)!.TargetInfo.Timestamp!.Value),
            });
            Assert.Equal(challenge, server.Step(negotiate));
            refused += Record.Exception(() => server.Step(changed)) is RpcException ? 1 : 0;
        }

        Assert.Equal(authenticate.Length, refused);
    }

    [Fact]
    public static void A_challenge_that_was_changed_on_the_way_shows()
    {
        using NtlmServerContext server = NtlmVectors.NewServer();
        using NtlmClientContext client = NtlmVectors.NewClient();
        byte[] challenge = [.. server.Step(client.Step(default))];

        // The flag of exchanged keys, which nothing but the integrity code covers.
        challenge[23] ^= 0x40;
        byte[] authenticate = client.Step(challenge);

        NtlmContextTests.Refused(server, authenticate, "changed in transit");
    }

    [Fact]
    public static void Keys_are_not_exchanged_when_one_side_does_not_want_it()
    {
        using NtlmServerContext server = NtlmVectors.NewServer();
        using NtlmClientContext client = NtlmVectors.NewClient();
        byte[] negotiate = client.Step(default);
        byte[] weaker = [.. negotiate];
        weaker[15] &= 0xBF;
        byte[] challenge = server.Step(weaker);
        byte[] authenticate = client.Step(challenge);

        Assert.Empty(AuthenticateMessage.Read(authenticate)!.EncryptedSessionKey);

        // The code of the messages shows that the first was another.
        NtlmContextTests.Refused(server, authenticate, "changed in transit");
    }

    [Fact]
    public static void Tokens_cut_at_every_octet_are_refused()
    {
        for (int length = 0; length < NtlmVectors.Authenticate.Length; length++)
        {
            using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);
            server.Step(NtlmVectors.Negotiate);
            Assert.Throws<RpcException>(() => server.Step(NtlmVectors.Authenticate.AsSpan(0, length)));
        }

        for (int length = 0; length < NtlmVectors.Challenge.Length; length++)
        {
            using NtlmClientContext client = NtlmVectors.NewClient();
            client.Step(default);

            // The last four octets are padding of the recorded list.
            Exception? error = Record.Exception(() => client.Step(NtlmVectors.Challenge.AsSpan(0, length)));
            Assert.True(error is RpcException, $"{length}: {error}");
        }

        for (int length = 0; length < 16; length++)
        {
            using NtlmServerContext server = NtlmVectors.NewServer();
            Assert.Throws<RpcException>(() => server.Step(NtlmVectors.Negotiate.AsSpan(0, length)));
        }
    }

    [Fact]
    public static void Random_damage_never_does_more_than_be_refused()
    {
        Random random = new(4);
        for (int round = 0; round < 3000; round++)
        {
            byte[] authenticate = NtlmVectors.Authenticate;
            byte[] challenge = NtlmVectors.Challenge;
            for (int i = random.Next(1, 6); i > 0; i--)
            {
                authenticate[random.Next(12, authenticate.Length)] = (byte)random.Next(256);
                challenge[random.Next(12, challenge.Length)] = (byte)random.Next(256);
            }

            using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);
            server.Step(NtlmVectors.Negotiate);
            using NtlmClientContext client = NtlmVectors.NewClient();
            client.Step(default);

            Assert.True(Record.Exception(() => server.Step(authenticate)) is null or RpcException);
            Assert.True(Record.Exception(() => client.Step(challenge)) is null or RpcException);
        }
    }
}
