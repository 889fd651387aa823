using System.Net;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Server.Native;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class ServerSecurityTests
{
    internal static readonly RpcServerSecurity Ntlm = new()
    {
        Authentication = RpcAuthentication.Ntlm,
        NtlmAccounts = [NtlmAccount.From(NtlmVectors.Credential)],
    };

    [Fact]
    public static void The_recorded_conversation_is_taken_and_answered_octet_by_octet()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm, NtlmVectors.Server));
        byte[] ack = server.Feed(WireVector.Load("bind-ntlm").Bytes);
        byte[] nothing = server.Feed(WireVector.Load("auth3-ntlm").Bytes);
        WireVector request = WireVector.Load("request-ntlm-privacy");
        WireVector response = WireVector.Load("response-ntlm-privacy");

        ServerStep step = Receive(server, request.Bytes);

        Assert.Equal(NtlmVectors.Challenge, ack[^NtlmVectors.Challenge.Length..]);
        Assert.Equal(PduType.BindAck, PduHeader.Read(ack).Type);
        Assert.Empty(nothing);
        Assert.True(server.IsEstablished);
        Assert.Equal(ServerStep.Call, step);
        Assert.Equal(@"DOMAIN\User", server.Security.Peer.User.Name);
        Assert.Equal("NTLM", server.Security.Peer.User.AuthenticationType);
        Assert.Equal(RpcProtectionLevel.Privacy, server.Security.Peer.ProtectionLevel);
        byte[] plainRequest = PlainStub(request);
        Assert.Equal(plainRequest[ExecStub.RequestPrefix..], server.Request.ToArray());

        byte[] plainResponse = PlainStub(response);
        int length = BitConverter.ToInt32(plainResponse);
        System.Buffers.BuffersExtensions.Write(
            server.Reply, plainResponse.AsSpan(ExecStub.ResponsePrefix, length));
        server.CompleteCall(0);
        Assert.True(server.TryTakeOutput(out ReadOnlyMemory<byte> sent));
        Assert.Equal(response.Bytes, sent.ToArray());
    }

    [Fact]
    public static void A_caller_without_proof_gets_no_further_than_his_first_fragment()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        byte[] ack = server.Feed(Conversation.Bind());

        // Only the first of many fragments: nothing waits for the rest.
        byte[] answer = server.Feed(Conversation.Fragment(new byte[64], PduFlags.First));

        Assert.Equal(PduType.BindAck, PduHeader.Read(ack).Type);
        Assert.Equal(FaultStatus.AccessDenied, StatusOf(answer));
        Assert.True(PduHeader.Read(answer).Flags.HasFlag(PduFlags.DidNotExecute));
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void Whom_the_kernel_knows_needs_no_proof()
    {
        PeerIdentity known = PeerIdentity.Anonymous("") with
        {
            User = new System.Security.Principal.GenericIdentity("ann", "Kernel"),
            IsLocal = true,
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm), known);
        server.Feed(Conversation.Bind());

        byte[] answer = server.Feed(Conversation.Request("Hi"u8));

        Assert.Equal(PduType.Response, PduHeader.Read(answer).Type);
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect, false)]
    [InlineData(RpcProtectionLevel.Integrity, true)]
    [InlineData(RpcProtectionLevel.Privacy, true)]
    public static void A_level_below_the_least_is_refused(RpcProtectionLevel level, bool served)
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        using ClientAssociation client = NewClient(level);
        Bind(client, server);

        byte[] answer = server.Feed(Request(client, "Hi"u8));

        Assert.Equal(served ? PduType.Response : PduType.Fault, PduHeader.Read(answer).Type);
        if (!served)
        {
            Assert.Equal(FaultStatus.UnsupportedLevel, StatusOf(answer));
        }
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Packet)]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static void Calls_of_any_size_pass_at_every_level(RpcProtectionLevel level)
    {
        using ServerAssociation server = NewServer(
            new SecurityPolicy(Ntlm with { MinimumLevel = RpcProtectionLevel.Connect }));
        using ClientAssociation client = NewClient(level);
        Bind(client, server);

        foreach (int length in new[] { 0, 1, 7, 8, 16, 5000, 5760, 5800, 100_000 })
        {
            byte[] payload = Transports.ClientCalls.Bytes(length);
            byte[] request = Request(client, payload);
            byte[] response = server.Feed(request);

            Assert.Equal(ClientStep.Reply, Deliver(client, response));
            Assert.Equal(payload, client.Reply.ToArray());
            bool isPlain = length >= 5000 && request.AsSpan().IndexOf(payload.AsSpan(0, 64)) >= 0;
            Assert.Equal(length >= 5000 && level != RpcProtectionLevel.Privacy, isPlain);
        }
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static void Any_turned_bit_of_a_request_is_refused(RpcProtectionLevel level)
    {
        int length;
        using (ServerAssociation server = NewServer(new SecurityPolicy(Ntlm)))
        using (ClientAssociation client = NewClient(level))
        {
            Bind(client, server);
            length = Request(client, "Hi"u8).Length;
        }

        for (int i = 0; i < length; i++)
        {
            using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
            using ClientAssociation client = NewClient(level);
            Bind(client, server);
            byte[] request = Request(client, "Hi"u8);
            request[i] ^= 0x10;
            byte[] answer = server.Feed(request);

            // A length that grew leaves the server waiting.
            Assert.True(
                server.IsMidMessage || server.IsClosed(), $"octet {i}: {Convert.ToHexString(answer)}");
            Assert.True(answer.Length == 0 || PduHeader.Read(answer).Type == PduType.Fault);
        }
    }

    [Fact]
    public static void A_request_that_is_played_again_is_refused()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        using ClientAssociation client = NewClient(RpcProtectionLevel.Integrity);
        Bind(client, server);
        byte[] request = Request(client, "Hi"u8);
        byte[] again = [.. request];
        Assert.Equal(PduType.Response, PduHeader.Read(server.Feed(request)).Type);

        Assert.Equal(FaultStatus.AccessDenied, StatusOf(server.Feed(again)));
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_wrong_password_shows_with_the_first_request()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        using ClientAssociation client = NewClient(
            RpcProtectionLevel.Privacy, new NetworkCredential("User", "wrong", "DOMAIN"));
        Bind(client, server);

        Assert.False(server.IsEstablished);
        byte[] answer = server.Feed(Request(client, "Hi"u8));
        ClientStep step = Deliver(client, answer);
        RpcException error = client.FaultToException();

        Assert.Equal(ClientStep.Fault, step);
        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Equal("AuthenticationFailed", error.ErrorId);
        Assert.Equal(5u, error.NativeStatus);
        Assert.Contains(@"'DOMAIN\User' with NTLM", error.Message, StringComparison.Ordinal);
        Assert.Contains("password is wrong", server.Security.Failure!.Message, StringComparison.Ordinal);
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_request_before_the_proof_is_refused()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm with
        {
            Authentication = RpcAuthentication.None | RpcAuthentication.Ntlm,
        }));
        server.Feed(WireVector.Load("bind-ntlm").Bytes);

        Assert.True(server.IsBound);
        Assert.False(server.IsEstablished);
        Assert.Equal(FaultStatus.AccessDenied, StatusOf(server.Feed(Conversation.Request("Hi"u8))));
    }

    [Fact]
    public static void A_package_that_is_not_offered_is_refused_with_the_bind()
    {
        using ServerAssociation server = NewServer(SecurityPolicy.Open);
        byte[] answer = server.Feed(WireVector.Load("bind-ntlm").Bytes);

        Assert.Equal(PduType.BindNak, PduHeader.Read(answer).Type);
        Assert.True(BindNakPdu.TryReadReason(PduHeader.Read(answer), answer, out BindNakReason reason));
        Assert.Equal(BindNakReason.AuthenticationType, reason);
        using ClientAssociation client = NewClient(RpcProtectionLevel.Privacy);
        client.Bind(0);
        RpcException error = Assert.Throws<RpcException>(() => Deliver(client, answer));
        Assert.Equal("MechanismNotOffered", error.ErrorId);
        Assert.Contains("does not offer NTLM", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_first_token_that_is_none_is_refused_with_the_bind()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        byte[] bind = WireVector.Load("bind-ntlm").Bytes;
        bind[80] ^= 0xFF;
        byte[] answer = server.Feed(bind);

        Assert.True(BindNakPdu.TryReadReason(PduHeader.Read(answer), answer, out BindNakReason reason));
        Assert.Equal(BindNakReason.InvalidChecksum, reason);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(255)]
    public static void A_level_that_there_is_not_is_refused_with_the_bind(byte level)
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        byte[] bind = WireVector.Load("bind-ntlm").Bytes;
        bind[73] = level;

        Assert.Equal(PduType.BindNak, PduHeader.Read(server.Feed(bind)).Type);
    }

    [Fact]
    public static void Tokens_without_end_are_refused()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        server.Feed(WireVector.Load("bind-ntlm").Bytes);
        byte[] alter = AuthTrailer.Append(
            Conversation.Bind(), new AuthTrailer(10, 6, 0, 79231), NtlmVectors.Negotiate);
        alter[2] = (byte)PduType.AlterContext;

        byte[] answer = server.Feed(alter);

        Assert.Equal(FaultStatus.AccessDenied, StatusOf(answer));
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void Who_proved_himself_is_not_asked_again_and_cannot_change()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        using ClientAssociation client = NewClient(RpcProtectionLevel.Integrity);
        Bind(client, server);
        byte[] alter = AuthTrailer.Append(
            Conversation.Bind(), new AuthTrailer(10, 6, 0, 79232), NtlmVectors.Negotiate);
        alter[2] = (byte)PduType.AlterContext;

        Assert.Equal(FaultStatus.AccessDenied, StatusOf(server.Feed(alter)));
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void Who_proved_himself_to_one_interface_is_nobody_to_one_with_other_accounts()
    {
        Guid other = Guid.NewGuid();
        SecurityPolicy own = new(Ntlm);
        SecurityPolicy others = new(
            Ntlm with { NtlmAccounts = [NtlmAccount.From(new("Boss", "other", ""))] });
        using ServerAssociation server = new(RpcLimits.Default, "135", _ => true)
        {
            Security = new ServerSecurity(
                id => id == other ? others : own, static () => PeerIdentity.Anonymous("10.0.0.1:5")),
        };
        using ClientAssociation client = NewClient(RpcProtectionLevel.Integrity);
        Bind(client, server);
        server.Feed(AlterContext(1, other));

        byte[] answer = server.Feed(RequestIn(client, context: 1));

        Assert.Equal(FaultStatus.AccessDenied, StatusOf(answer));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static void An_interface_sees_only_callers_that_its_own_accounts_accepted(bool isKnown)
    {
        Guid other = Guid.NewGuid();
        System.Security.Principal.GenericIdentity ann = new(isKnown ? "ann" : "", "Kernel");
        PeerIdentity transport = new(ann, "", 0, IsLocal: true)
        { ProtectionLevel = RpcProtectionLevel.Privacy };
        SecurityPolicy own = new(Ntlm);
        SecurityPolicy others = new(Ntlm with
        {
            Authentication = RpcAuthentication.Ntlm | (isKnown ? 0 : RpcAuthentication.None),
        });
        using ServerAssociation server = new(RpcLimits.Default, "135", _ => true)
        {
            Security = new ServerSecurity(id => id == other ? others : own, () => transport),
        };
        using ClientAssociation client = NewClient(RpcProtectionLevel.Integrity);
        using DceServerCall call = new(server, RpcEndpoint.Tcp("127.0.0.1", 135));
        Bind(client, server);
        Assert.Equal(ServerStep.Call, Receive(server, Request(client, "Hi"u8)));
        Assert.Equal("NTLM", call.Peer.User.AuthenticationType);
        server.CompleteCall(0);
        Assert.True(server.TryTakeOutput(out _));
        server.EndCall();
        server.Feed(AlterContext(1, other));
        Assert.Equal(ServerStep.Call, Receive(server, RequestIn(client, context: 1)));
        Assert.Same(transport, call.Peer);
    }

    [Fact]
    public static void Nothing_is_kept_of_a_request_without_an_interface()
    {
        using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm));
        server.Feed(Conversation.Bind(service: Guid.NewGuid()));

        byte[] answer = server.Feed(Conversation.Fragment(new byte[64], PduFlags.First));
        Assert.Equal(FaultStatus.InvalidContext, StatusOf(answer));
    }

    [Fact]
    public static void A_bind_cut_lied_about_or_damaged_anywhere_harms_nobody()
    {
        byte[] bind = WireVector.Load("bind-ntlm").Bytes;
        byte[] auth3 = WireVector.Load("auth3-ntlm").Bytes;
        Random random = new(3);
        for (int i = 0; i < bind.Length + auth3.Length; i++)
        {
            using ServerAssociation server = NewServer(new SecurityPolicy(Ntlm, NtlmVectors.Server));
            byte[] first = [.. bind];
            byte[] second = [.. auth3];
            (i < bind.Length ? first : second)[i < bind.Length ? i : i - bind.Length] =
                (byte)random.Next(256);
            server.Feed(first);
            server.Feed(second);
            byte[] answer = server.Feed(WireVector.Load("request-ntlm-privacy").Bytes);

            Assert.True(
                answer.Length == 0 || PduHeader.Read(answer).Type is PduType.Fault or PduType.Response);
        }
    }

    internal static ServerAssociation NewServer(SecurityPolicy policy, PeerIdentity? peer = null) =>
        new(RpcLimits.Default, "135", id => id == Conversation.Service)
        {
            Security = new ServerSecurity(_ => policy, () => peer ?? PeerIdentity.Anonymous("10.0.0.1:5")),
        };

    private static ClientAssociation NewClient(
        RpcProtectionLevel level, NetworkCredential? credential = null) =>
        SecuredClient.New(level, credential, RpcMechanism.Ntlm);

    private static List<PduType> Bind(ClientAssociation client, ServerAssociation server) =>
        Converse(client, server, client.Bind(0));

    private static List<PduType> Converse(ClientAssociation client, ServerAssociation server, byte[] bind) =>
        SecuredClient.Converse(client, server, bind);

    private static byte[] Request(ClientAssociation client, ReadOnlySpan<byte> payload) =>
        SecuredClient.Request(client, payload);

    private static byte[] AlterContext(ushort context, Guid interfaceId)
    {
        ContextProposal proposal = new(context, SyntaxId.Interface(interfaceId), [SyntaxId.Ndr]);
        return new BindPdu(5840, 5840, 0, [proposal]).ToBytes(PduType.AlterContext, 9);
    }

    // As a client with several interfaces on one connection sends it.
    private static byte[] RequestIn(ClientAssociation client, ushort context)
    {
        using FragmentWriter writer = new() { Protection = client.Protection };
        byte[] message = [.. new byte[PduHeader.CallSize], .. Conversation.RequestStub("Hi"u8)];
        writer.Begin(message, PduType.Request, 10, context, 5840);
        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> request));
        return request.ToArray();
    }

    private static ClientStep Deliver(ClientAssociation client, byte[] bytes) =>
        SecuredClient.Deliver(client, bytes);

    private static byte[] PlainStub(WireVector vector) =>
        Convert.FromHexString(vector.Fields.GetProperty("plain_stub_hex").GetString()!);

    private static uint StatusOf(byte[] answer)
    {
        Assert.Equal(PduType.Fault, PduHeader.Read(answer).Type);
        Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(answer), answer, out uint status));
        return status;
    }

    private static ServerStep Receive(ServerAssociation server, byte[] bytes)
    {
        bytes.CopyTo(server.GetFreeMemory());
        server.Advance(bytes.Length);
        return server.Step();
    }
}
