using System.Buffers.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>A server in between that changes what is not signed: binds, alter_contexts, and headers without
/// header signing.</summary>
public static class RedirectedBindTests
{
    private const int FlagsOffset = 3;
    private const int ContextOffset = 20;
    private const int InterfaceOffset = 32;
    private static readonly Guid Other = new("5f4e0d8c-6b2a-109f-7a4c-3e5db4c2f2b1");

    [Theory]
    [InlineData(RpcProtectionLevel.Integrity, true)]
    [InlineData(RpcProtectionLevel.Integrity, false)]
    [InlineData(RpcProtectionLevel.Privacy, true)]
    [InlineData(RpcProtectionLevel.Privacy, false)]
    public static void A_call_does_not_run_on_the_interface_of_a_changed_bind(
        RpcProtectionLevel level, bool signsHeaders)
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(level);
        byte[] bind = client.Bind(0);
        Other.TryWriteBytes(bind.AsSpan(InterfaceOffset));
        if (!signsHeaders)
        {
            bind[FlagsOffset] &= unchecked((byte)~(byte)PduFlags.HeaderSigning);
        }

        SecuredClient.Converse(client, server, bind);

        ServerAnswers.AssertFault(
            server.Feed(SecuredClient.Request(client, "Hi"u8)), FaultStatus.AccessDenied);
    }

    [Fact]
    public static void A_call_does_not_run_in_a_context_that_was_put_in()
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Privacy);
        byte[] bind = client.Bind(0);
        bind[FlagsOffset] &= unchecked((byte)~(byte)PduFlags.HeaderSigning);
        SecuredClient.Converse(client, server, bind);
        Alter(server, 1, Other);

        byte[] request = SecuredClient.Request(client, "Hi"u8);
        BinaryPrimitives.WriteUInt16LittleEndian(request.AsSpan(ContextOffset), 1);

        ServerAnswers.AssertFault(server.Feed(request), FaultStatus.AccessDenied);
    }

    [Fact]
    public static void An_alter_context_gives_no_context_another_meaning()
    {
        using ServerAssociation server = NewServer();
        Assert.Equal(PduType.BindAck, ServerAnswers.TypeOf(server.Feed(Conversation.Bind())));

        BindAckPdu same = Alter(server, 0, Conversation.Service);
        BindAckPdu refused = Alter(server, 0, Other);
        BindAckPdu own = Alter(server, 1, Other);

        Assert.Equal(ContextResult.Accepted, Assert.Single(same.Results));
        Assert.Equal(ContextDecision.ProviderRejection, Assert.Single(refused.Results).Result);
        Assert.Equal(ContextResult.Accepted, Assert.Single(own.Results));
        Assert.Equal(Conversation.Service, InterfaceOf(server, context: 0));
        Assert.Equal(Other, InterfaceOf(server, context: 1));
    }

    [Fact]
    public static void A_bind_gives_no_context_two_meanings()
    {
        using ServerAssociation server = NewServer();
        ContextProposal[] twice =
        [
            new(0, SyntaxId.Interface(Conversation.Service), [SyntaxId.Ndr]),
            new(0, SyntaxId.Interface(Other), [SyntaxId.Ndr]),
        ];

        byte[] answer = server.Feed(new BindPdu(5840, 5840, 0, twice).ToBytes(PduType.Bind, 1));

        BindAckPdu ack = BindAckPdu.Read(PduHeader.Read(answer), answer)!;
        Assert.Equal(
            [ContextDecision.Accepted, ContextDecision.ProviderRejection],
            ack.Results.Select(result => result.Result));
        Assert.Equal(Conversation.Service, InterfaceOf(server, context: 0));
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static void No_changed_bit_of_a_bind_moves_a_call_to_another_interface(RpcProtectionLevel level)
    {
        int length;
        using (ClientAssociation measured = SecuredClient.New(level))
        {
            length = PduHeader.Read(measured.Bind(0)).FragmentLength;
        }

        for (int bit = 0; bit < 8 * length; bit++)
        {
            using ServerAssociation server = NewServer();
            using ClientAssociation client = SecuredClient.New(level);
            byte[] bind = client.Bind(0);
            bind[bit / 8] ^= (byte)(1 << (bit % 8));
            if (TryConverse(client, server, bind) && Calls(server, SecuredClient.Request(client, "Hi"u8)))
            {
                Assert.True(server.Interface == Conversation.Service, $"bit {bit % 8} of octet {bit / 8}");
            }
        }
    }

    // A client of another program, or an older one.
    [Fact]
    public static void A_client_that_says_nothing_of_it_is_served()
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        SecuredClient.Converse(client, server, client.Bind(0));
        byte[] stub = Conversation.RequestStub("Hi"u8);
        using FragmentWriter writer = new() { Protection = client.Protection };
        writer.Begin(Conversation.Join(new byte[PduHeader.CallSize], stub), PduType.Request, 2, 0, 5840);
        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> request));

        Assert.Equal(PduType.Response, ServerAnswers.TypeOf(server.Feed(request.Span)));
    }

    private static ServerAssociation NewServer()
    {
        SecurityPolicy policy = new(new RpcServerSecurity
        {
            Authentication = RpcAuthentication.Ntlm | RpcAuthentication.None,
            NtlmAccounts = [NtlmAccount.From(NtlmVectors.Credential)],
        });
        return new ServerAssociation(RpcLimits.Default, "135", _ => true)
        {
            Security = new ServerSecurity(_ => policy, static () => PeerIdentity.Anonymous("")),
        };
    }

    private static BindAckPdu Alter(ServerAssociation server, ushort context, Guid interfaceId)
    {
        ContextProposal proposal = new(context, SyntaxId.Interface(interfaceId), [SyntaxId.Ndr]);
        byte[] answer = server.Feed(
            new BindPdu(5840, 5840, 0, [proposal]).ToBytes(PduType.AlterContext, 9));
        Assert.Equal(PduType.AlterContextResponse, ServerAnswers.TypeOf(answer));
        return BindAckPdu.Read(PduHeader.Read(answer), answer)!;
    }

    private static Guid InterfaceOf(ServerAssociation server, ushort context)
    {
        byte[] request = Conversation.Fragment(
            Conversation.RequestStub("Hi"u8), PduFlags.Single, context: context);
        Assert.Equal(PduType.Response, ServerAnswers.TypeOf(server.Feed(request)));
        return server.Interface;
    }

    private static bool TryConverse(ClientAssociation client, ServerAssociation server, byte[] bind)
    {
        byte[] pdu = bind;
        try
        {
            while (true)
            {
                byte[] answer = server.Feed(pdu);
                ClientStep step = SecuredClient.Deliver(client, answer);
                pdu = SecuredClient.Output(client);
                if (step == ClientStep.Bound)
                {
                    return server.Feed(pdu).Length == 0;
                }

                if (step != ClientStep.Send)
                {
                    return false;
                }
            }
        }
        catch (RpcException)
        {
            return false;
        }
    }

    private static bool Calls(ServerAssociation server, byte[] request)
    {
        byte[] answer = server.Feed(request);
        return answer.Length > 0 && ServerAnswers.TypeOf(answer) == PduType.Response;
    }
}
