using System.Buffers.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>Callers who proved themselves, or pretend to, and then lie in their security trailers.</summary>
public static class BadTrailerTests
{
    private const int AuthLengthOffset = 10;

    public static TheoryData<RpcProtectionLevel> Levels =>
    [
        RpcProtectionLevel.Connect,
        RpcProtectionLevel.Packet,
        RpcProtectionLevel.Integrity,
        RpcProtectionLevel.Privacy,
    ];

    [Theory]
    [MemberData(nameof(Levels))]
    public static void An_authentication_length_that_lies_is_refused(RpcProtectionLevel level)
    {
        byte[] sample = Request(level, out _);
        int own = BinaryPrimitives.ReadUInt16LittleEndian(sample.AsSpan(AuthLengthOffset));

        // None at all, one less and more, all of the stub, the header too,
        // over the fragment, and as if negative.
        int whole = sample.Length;
        int[] lies =
            [0, 1, own - 1, own + 1, whole - 32, whole - 24, whole - 9, whole, 0x7FFF, 0xFFF8, 0xFFFF];
        foreach (int lie in lies)
        {
            if (lie == own)
            {
                continue;
            }

            byte[] request = Request(level, out ServerAssociation server);
            using ServerAssociation disposed = server;
            BinaryPrimitives.WriteUInt16LittleEndian(request.AsSpan(AuthLengthOffset), (ushort)lie);

            AssertRefused(server, server.Feed(request), $"auth_length {lie}", level);
        }
    }

    [Theory]
    [MemberData(nameof(Levels))]
    public static void A_padding_that_lies_is_refused(RpcProtectionLevel level)
    {
        for (int pad = 0; pad <= byte.MaxValue; pad++)
        {
            byte[] request = Request(level, out ServerAssociation server);
            using ServerAssociation disposed = server;
            int offset = request.Length - PduHeader.Read(request).AuthLength - AuthTrailer.Size + 2;
            if (request[offset] == pad)
            {
                continue;
            }

            request[offset] = (byte)pad;

            AssertRefused(server, server.Feed(request), $"auth_pad_length {pad}", level);
        }
    }

    [Theory]
    [InlineData(0, 9)]
    [InlineData(0, 14)]
    [InlineData(1, 2)]
    [InlineData(1, 6)]
    [InlineData(4, 0)]
    public static void Another_package_level_or_context_than_that_of_the_bind_is_refused(
        int octet, byte value)
    {
        byte[] request = Request(RpcProtectionLevel.Integrity, out ServerAssociation server);
        using ServerAssociation disposed = server;
        request[request.Length - PduHeader.Read(request).AuthLength - AuthTrailer.Size + octet] = value;

        AssertRefused(server, server.Feed(request), $"octet {octet}");
    }

    [Fact]
    public static void A_last_token_cut_anywhere_proves_nothing()
    {
        byte[] token = NtlmVectors.Authenticate;
        for (int length = 1; length < token.Length; length++)
        {
            using ServerAssociation server = NewServer();
            server.Feed(WireVector.Load("bind-ntlm").Bytes);

            byte[] nothing = server.Feed(Auth3(token.AsSpan(0, length)));
            byte[] answer = server.Feed(WireVector.Load("request-ntlm-privacy").Bytes);

            Assert.Empty(nothing);
            Assert.False(server.IsEstablished);
            AssertRefused(server, answer, $"{length} octets");
        }
    }

    [Fact]
    public static void A_last_token_that_comes_again_ends_the_connection()
    {
        using ServerAssociation server = NewServer();
        server.Feed(WireVector.Load("bind-ntlm").Bytes);
        byte[] auth3 = WireVector.Load("auth3-ntlm").Bytes;
        server.Feed(auth3);
        Assert.True(server.IsEstablished);

        Assert.Empty(server.Feed(auth3));

        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_recorded_conversation_played_to_another_connection_proves_nothing()
    {
        // Another connection has another challenge.
        using ServerAssociation server = NewServer(new NtlmServerOptions
        {
            Clock = new NtlmVectors.FixedClock(NtlmVectors.Time),
            ComputerName = NtlmVectors.Server.ComputerName,
            DomainName = NtlmVectors.Server.DomainName,
        });
        server.Feed(WireVector.Load("bind-ntlm").Bytes);
        server.Feed(WireVector.Load("auth3-ntlm").Bytes);

        byte[] answer = server.Feed(WireVector.Load("request-ntlm-privacy").Bytes);

        AssertRefused(server, answer, "the recorded request");
        Assert.Equal("AuthenticationFailed", server.Security.Failure!.ErrorId);
    }

    [Fact]
    public static void A_proof_after_one_that_failed_does_not_count()
    {
        using ServerAssociation server = NewServer();
        server.Feed(WireVector.Load("bind-ntlm").Bytes);
        byte[] wrong = NtlmVectors.Authenticate;

        // Where the proof is; nothing covers the end of this recorded message.
        wrong[BitConverter.ToInt32(wrong, 24)] ^= 1;
        server.Feed(Auth3(wrong));

        server.Feed(WireVector.Load("auth3-ntlm").Bytes);

        Assert.False(server.IsEstablished);
        AssertRefused(server, server.Feed(WireVector.Load("request-ntlm-privacy").Bytes), "the request");
    }

    [Fact]
    public static void An_empty_token_or_one_as_large_as_a_PDU_is_refused_with_the_bind()
    {
        foreach (int length in new[] { 1, 60_000 })
        {
            using ServerAssociation server = NewServer();

            byte[] answer = server.Feed(
                AuthTrailer.Append(Conversation.Bind(), new AuthTrailer(10, 6, 0, 79231), new byte[length]));

            Assert.Equal(PduType.BindNak, PduHeader.Read(answer).Type);
            Assert.True(server.IsClosed());
        }
    }

    [Fact]
    public static void A_token_larger_than_a_PDU_is_rejected()
    {
        RpcException error = Assert.Throws<RpcException>(() => AuthTrailer.Append(
            Conversation.Bind(), new AuthTrailer(10, 6, 0, 79231), new byte[ushort.MaxValue]));

        Assert.Equal("TokenTooLarge", error.ErrorId);
    }

    // A call that is ready to be sent, and the server that waits for it.
    private static byte[] Request(RpcProtectionLevel level, out ServerAssociation server)
    {
        server = NewServer(new NtlmServerOptions());
        using ClientAssociation client = SecuredClient.New(level);
        SecuredClient.Converse(client, server, client.Bind(0));
        byte[] request = SecuredClient.Request(client, "Hello, world"u8);

        // At level connect nothing is signed; some clients add a trailer all the same, as this does.
        return level == RpcProtectionLevel.Connect
            ? AuthTrailer.Append(request, new AuthTrailer(10, 2, 0, 79231), new byte[16])
            : request;
    }

    private static byte[] Auth3(ReadOnlySpan<byte> token)
    {
        byte[] pdu = new byte[PduHeader.Size + 4];
        PduHeader.Write(pdu, PduType.Auth3, PduFlags.Single, pdu.Length, 0, 1);
        AuthTrailer trailer = new(10, 6, 0, 79231);
        return AuthTrailer.Append(pdu, trailer, token);
    }

    private static void AssertRefused(
        ServerAssociation server, byte[] answer, string what,
        RpcProtectionLevel level = RpcProtectionLevel.Integrity)
    {
        // Where nothing is signed a lie only makes another stub of it, which is then none of the interface.
        if (level == RpcProtectionLevel.Connect && !server.IsClosed())
        {
            Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(answer), answer, out uint bad), what);
            Assert.Equal(FaultStatus.BadStubData, bad);
            return;
        }

        // A closed connection without a word, or a fault; never a response, and never a wait for more.
        Assert.True(server.IsClosed(), what);
        if (answer.Length > 0)
        {
            Assert.Equal(PduType.Fault, PduHeader.Read(answer).Type);
            Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(answer), answer, out uint status));
            Assert.True(
                status is FaultStatus.AccessDenied or FaultStatus.ProtocolError, $"{what}: 0x{status:X8}");
        }
    }

    private static ServerAssociation NewServer(NtlmServerOptions? options = null)
    {
        SecurityPolicy policy = new(
            new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                MinimumLevel = RpcProtectionLevel.Connect,
                NtlmAccounts = [NtlmAccount.From(NtlmVectors.Credential)],
            },
            options ?? NtlmVectors.Server);
        return new ServerAssociation(RpcLimits.Default, "135", id => id == Conversation.Service)
        {
            Security = new ServerSecurity(_ => policy, static () => PeerIdentity.Anonymous("10.0.0.1:5")),
        };
    }
}
