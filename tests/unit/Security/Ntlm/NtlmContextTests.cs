using System.Buffers.Binary;
using System.Net;
using System.Text;
using ProtoRpc.Security;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Ntlm;

public static class NtlmContextTests
{
    private const int FlagsOfNegotiate = 12;

    [Fact]
    public static void The_server_answers_the_recorded_client_octet_by_octet_and_lets_it_in()
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);

        byte[] challenge = server.Step(NtlmVectors.Negotiate);
        byte[] end = server.Step(NtlmVectors.Authenticate);

        Assert.Equal(NtlmVectors.Challenge, challenge);
        Assert.Empty(end);
        Assert.True(server.IsComplete);
        Assert.Equal(@"DOMAIN\User", server.Identity.Name);
        Assert.Equal("NTLM", server.Identity.AuthenticationType);
        Assert.True(server.Identity.IsAuthenticated);
    }

    [Theory]
    [InlineData("User", "DOMAIN", "User", "DOMAIN", @"DOMAIN\User")]
    [InlineData("uSER", "domain", "User", "DOMAIN", @"DOMAIN\User")]
    [InlineData("ann", "", "Ann", "", "Ann")]
    [InlineData("Ann", "ANYWHERE", "Ann", "", "Ann")]
    [InlineData(@"DOMAIN\User", "", "User", "DOMAIN", @"DOMAIN\User")]
    [InlineData("ann@example.com", "", "ann@example.com", "", "ann@example.com")]
    public static void A_client_is_known_by_the_name_of_its_account(
        string user, string domain, string accountUser, string accountDomain, string name)
    {
        using NtlmServerContext server = NtlmVectors.NewServer(
            null, NtlmAccount.From(new NetworkCredential(accountUser, "Pässwörd €", accountDomain)));
        using NtlmClientContext client = NtlmVectors.NewClient(
            new NetworkCredential(user, "Pässwörd €", domain));

        Agree(client, server);

        Assert.Equal(name, server.Identity.Name);
    }

    [Fact]
    public static void A_challenge_that_leaves_no_room_for_the_response_is_malformed()
    {
        AvPairs info = new();
        info.Set(AvId.ComputerName, new byte[ushort.MaxValue - 8]);
        byte[] challenge = new ChallengeMessage(
            NtlmFlags.Supported, new byte[ChallengeMessage.ChallengeSize], "", info).ToBytes();
        using NtlmClientContext client = NtlmVectors.NewClient();
        client.Step(default);

        RpcException error = Assert.Throws<RpcException>(() => client.Step(challenge));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
    }

    [Fact]
    public static void An_account_may_be_given_by_its_hash()
    {
        byte[] hash = NtlmCrypto.NtHash("Password");
        using NtlmServerContext server = NtlmVectors.NewServer(
            null, NtlmAccount.FromHash(@"DOMAIN\User", hash));

        Agree(NtlmVectors.NewClient(), server);

        Assert.Equal(@"DOMAIN\User", server.Identity.Name);
        Assert.Throws<RpcException>(() => NtlmAccount.FromHash("x", hash.AsSpan(1)));
    }

    [Theory]
    [InlineData("User", "password", "DOMAIN")]
    [InlineData("User", "", "DOMAIN")]
    [InlineData("Other", "Password", "DOMAIN")]
    [InlineData("User", "Password", "ELSEWHERE")]
    [InlineData("User", "Password", "")]
    public static void A_wrong_user_domain_or_password_is_refused_with_one_and_the_same_error(
        string user, string password, string domain)
    {
        using NtlmServerContext server = NtlmVectors.NewServer();
        using NtlmClientContext client = NtlmVectors.NewClient(new NetworkCredential(user, password, domain));

        RpcException error = Assert.Throws<RpcException>(() => Agree(client, server));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Equal("AuthenticationFailed", error.ErrorId);
        Assert.Equal(
            $@"NTLM: '{domain}\{user}' is unknown to this server, or the password is wrong.",
            error.Message);
        Assert.False(server.IsComplete);
    }

    [Fact]
    public static void A_recorded_answer_does_not_fit_another_challenge()
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server with
        {
            Random = count => new byte[count],
        });
        server.Step(NtlmVectors.Negotiate);

        Refused(server, NtlmVectors.Authenticate, "password is wrong");
    }

    [Fact]
    public static void A_challenge_is_answered_once()
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);
        server.Step(NtlmVectors.Negotiate);
        byte[] wrong = NtlmVectors.Authenticate;
        wrong[0x80] ^= 1;
        Refused(server, wrong, "password is wrong");

        Refused(server, NtlmVectors.Authenticate, "another token");
        Assert.False(server.IsComplete);
    }

    [Theory]
    [InlineData(37, true)]
    [InlineData(-37, true)]
    [InlineData(35, false)]
    [InlineData(-35, false)]
    public static void An_answer_of_another_day_is_refused(int hours, bool refused)
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server with
        {
            Clock = new NtlmVectors.FixedClock(NtlmVectors.Time.AddHours(hours)),
        });
        server.Step(NtlmVectors.Negotiate);

        if (refused)
        {
            Refused(server, NtlmVectors.Authenticate, "Set the clocks");
        }
        else
        {
            server.Step(NtlmVectors.Authenticate);
            Assert.True(server.IsComplete);
        }
    }

    [Theory]
    [InlineData(nameof(NtlmFlags.Unicode))]
    [InlineData(nameof(NtlmFlags.Ntlm))]
    [InlineData(nameof(NtlmFlags.ExtendedSessionSecurity))]
    [InlineData(nameof(NtlmFlags.Key128))]
    public static void Weaker_sessions_are_refused_on_both_sides(string flag)
    {
        uint missing = (uint)Enum.Parse<NtlmFlags>(flag);
        byte[] negotiate = NtlmVectors.Negotiate;
        byte[] challenge = NtlmVectors.Challenge;
        Clear(negotiate, FlagsOfNegotiate);
        Clear(challenge, 20);
        using NtlmServerContext server = NtlmVectors.NewServer();
        using NtlmClientContext client = NtlmVectors.NewClient();
        client.Step(default);

        Refused(server, negotiate, "weaker security is not supported");
        Refused(client, challenge, "weaker security is not supported");

        void Clear(byte[] message, int offset)
        {
            Span<byte> flags = message.AsSpan(offset);
            BinaryPrimitives.WriteUInt32LittleEndian(
                flags, BinaryPrimitives.ReadUInt32LittleEndian(flags) & ~missing);
        }
    }

    [Fact]
    public static void Responses_of_LM_and_NTLM_version_1_are_refused()
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);
        server.Step(NtlmVectors.Negotiate);
        byte[] message = Remade(m => m with { NtResponse = new byte[24] });

        Refused(server, message, "version 1");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static void A_client_without_user_is_refused(bool flagged)
    {
        using NtlmServerContext server = NtlmVectors.NewServer(NtlmVectors.Server);
        server.Step(NtlmVectors.Negotiate);
        byte[] message = Remade(m => flagged
            ? m with { Flags = m.Flags | NtlmFlags.Anonymous }
            : m with { User = "", Domain = "", NtResponse = [] });

        Refused(server, message, "sent no user name");
    }

    [Fact]
    public static void Without_the_servers_time_a_client_uses_its_own_and_an_older_response_goes_along()
    {
        using NtlmClientContext client = NtlmVectors.NewClient(null, new NtlmClientOptions
        {
            Clock = new NtlmVectors.FixedClock(NtlmVectors.Time.AddHours(1)),
        });
        client.Step(default);
        ChallengeMessage recorded = ChallengeMessage.Read(NtlmVectors.Challenge)!;
        AvPairs info = new();
        info.Set(AvId.DomainName, "DOMAIN");

        byte[] message = client.Step((recorded with { TargetInfo = info }).ToBytes());

        NtlmV2Response response = NtlmV2Response.Read(AuthenticateMessage.Read(message)!.NtResponse)!;
        Assert.Equal(NtlmVectors.Time.AddHours(1), response.Time);
        Assert.Equal(0u, response.Pairs.Flags);
        Assert.Equal(24, BinaryPrimitives.ReadUInt16LittleEndian(message.AsSpan(12)));
        Assert.NotEqual(
            new byte[24], message.AsSpan(message.Length - 16 - response.Blob.Length - 16 - 24, 24).ToArray());
    }

    [Fact]
    public static void The_older_response_is_that_of_the_recorded_client()
    {
        byte[] recorded = NtlmVectors.Authenticate;
        byte[] clientChallenge =
            NtlmV2Response.Read(AuthenticateMessage.Read(recorded)!.NtResponse)!.Blob[16..24];
        byte[] key = NtlmCrypto.ResponseKey(NtlmCrypto.NtHash("Password"), "User", "DOMAIN");

        byte[] proof = NtlmCrypto.Proof(
            key, NtlmVectors.Known("auth3-ntlm", "server_challenge"), clientChallenge);

        byte[] expected = [.. proof, .. clientChallenge];
        Assert.Equal(expected, recorded[0x54..0x6C]);
    }

    [Fact]
    public static void A_client_says_which_service_it_wants()
    {
        using NtlmServerContext server = NtlmVectors.NewServer();
        using NtlmClientContext client = NtlmVectors.NewClient(
            null, new NtlmClientOptions { TargetName = "host/server" });

        byte[] message = client.Step(server.Step(client.Step(default)));

        AvPairs pairs = NtlmV2Response.Read(AuthenticateMessage.Read(message)!.NtResponse)!.Pairs;
        Assert.Equal("host/server", Encoding.Unicode.GetString(pairs.Find(AvId.TargetName)!));
        Assert.Equal(AvPairs.HasMic, pairs.Flags);
    }

    [Theory]
    [InlineData(1, 1, true)]
    [InlineData(1, 2, false)]
    [InlineData(1, 0, true)]
    [InlineData(1, null, true)]
    [InlineData(null, 2, true)]
    public static void An_authentication_for_another_TLS_connection_is_refused(
        int? expected, int? sent, bool works)
    {
        using NtlmServerContext server = NtlmVectors.NewServer(new NtlmServerOptions
        {
            ChannelBinding = Binding(expected),
        });
        using NtlmClientContext client = NtlmVectors.NewClient(null, new NtlmClientOptions
        {
            ChannelBinding = Binding(sent),
        });

        Exception? error = Record.Exception(() => Agree(client, server));

        Assert.Equal(works, error is null);
        Assert.True(error is null || error.Message.Contains("TLS", StringComparison.Ordinal));

        static byte[]? Binding(int? value) =>
            value is { } octet ? [.. Enumerable.Repeat((byte)octet, 16)] : null;
    }

    [Fact]
    public static void A_binding_of_another_length_is_refused()
    {
        using NtlmServerContext server = NtlmVectors.NewServer(new NtlmServerOptions
        {
            ChannelBinding = new byte[16],
        });
        using NtlmClientContext client = NtlmVectors.NewClient(null, new NtlmClientOptions
        {
            ChannelBinding = [1],
        });

        Assert.Throws<RpcException>(() => Agree(client, server));
    }

    [Fact]
    public static void Passwords_do_not_show()
    {
        NtlmAccount account = NtlmAccount.From(NtlmVectors.Credential);

        Assert.Equal(@"DOMAIN\User", account.ToString());
        Assert.Equal(["Name"], typeof(NtlmAccount).GetProperties().Select(p => p.Name));
    }

    internal static void Agree(SecurityContext client, SecurityContext server)
    {
        byte[] token = client.Step(default);
        for (int i = 0; i < 10 && !(client.IsComplete && server.IsComplete); i++)
        {
            token = server.Step(token);
            if (!client.IsComplete)
            {
                token = client.Step(token);
            }
        }

        Assert.True(client.IsComplete && server.IsComplete);
    }

    private static byte[] Remade(Func<AuthenticateMessage, AuthenticateMessage> change) =>
        change(AuthenticateMessage.Read(NtlmVectors.Authenticate)!).ToBytes();

    internal static void Refused(SecurityContext context, byte[] token, string why)
    {
        RpcException error = Assert.Throws<RpcException>(() => context.Step(token));
        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }
}
