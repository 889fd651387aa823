using ProtoRpc.Protocols.Dce;
using static ProtoRpc.Tests.Protocols.Dce.ServerAnswers;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>How a server answers bind and alter_context.</summary>
public static class ServerBindTests
{
    private static readonly byte[] Hello = "Hello, a payload of some length"u8.ToArray();

    [Fact]
    public static void A_windows_bind_gets_ndr_and_no_ndr64()
    {
        using ServerAssociation server = Conversation.Server();

        byte[] answer = server.Feed(WireVector.Load("bind-windows-shape").Bytes);

        BindAckPdu ack = BindAckPdu.Read(PduHeader.Read(answer), answer)!;
        Assert.Equal(5840, ack.MaxTransmit);
        Assert.Equal(5840, ack.MaxReceive);
        Assert.NotEqual(0u, ack.AssociationGroup);
        Assert.Equal("135", ack.SecondaryAddress);
        Assert.Equal(
            [
                ContextResult.Accepted,
                ContextResult.Refused(ContextResult.TransferNotSupported),
                ContextResult.Features(2),
            ],
            ack.Results);
    }

    [Theory]
    [InlineData(4280, 4280)]
    [InlineData(65535, 5840)]
    [InlineData(0, 1432)]
    [InlineData(1431, 1432)]
    public static void Fragment_sizes_are_the_smaller_ones_and_never_below_what_all_must_take(
        int proposed, int agreed)
    {
        using ServerAssociation server = Conversation.Server();

        byte[] answer = server.Feed(Conversation.Bind((ushort)proposed));

        BindAckPdu ack = BindAckPdu.Read(PduHeader.Read(answer), answer)!;
        Assert.Equal(agreed, ack.MaxTransmit);
        Assert.Equal(agreed, ack.MaxReceive);
    }

    [Fact]
    public static void Multiplexing_is_not_echoed()
    {
        byte[] bind = Conversation.Bind();
        bind[3] |= (byte)PduFlags.ConcurrentMultiplexing;

        byte[] answer = Conversation.Server().Feed(bind);

        Assert.Equal(PduFlags.Single, PduHeader.Read(answer).Flags);
    }

    [Fact]
    public static void A_client_keeps_its_association_group()
    {
        BindPdu bind = new(
            5840, 5840, 77, [new(0, SyntaxId.Interface(Conversation.Service), [SyntaxId.Ndr])]);

        byte[] answer = Conversation.Server().Feed(bind.ToBytes(PduType.Bind, 1));

        Assert.Equal(77u, BindAckPdu.Read(PduHeader.Read(answer), answer)!.AssociationGroup);
    }

    [Fact]
    public static void An_unknown_interface_is_refused_in_the_bind_ack()
    {
        using ServerAssociation server = Conversation.Server();

        byte[] answer = server.Feed(Conversation.Bind(service: Guid.NewGuid()));

        Assert.Equal(PduType.BindAck, TypeOf(answer));
        Assert.Equal(
            ContextResult.Refused(ContextResult.InterfaceNotSupported),
            BindAckPdu.Read(PduHeader.Read(answer), answer)!.Results.Single());
        AssertFault(server.Feed(Conversation.Request(Hello)), FaultStatus.InvalidContext);
        Assert.False(server.IsClosed());
    }

    [Theory]
    [InlineData(2u)]
    [InlineData(0x10001u)]
    public static void Another_version_of_the_interface_is_refused(uint version)
    {
        BindPdu bind = new(
            5840, 5840, 0, [new(0, new SyntaxId(Conversation.Service, version), [SyntaxId.Ndr])]);

        byte[] answer = Conversation.Server().Feed(bind.ToBytes(PduType.Bind, 1));

        Assert.Equal(
            ContextResult.Refused(ContextResult.InterfaceNotSupported),
            BindAckPdu.Read(PduHeader.Read(answer), answer)!.Results.Single());
    }

    [Fact]
    public static void An_alter_context_adds_a_context()
    {
        using ServerAssociation server = Bound();
        BindPdu alter = new(0, 0, 0, [new(7, SyntaxId.Interface(Conversation.Service), [SyntaxId.Ndr])]);

        byte[] answer = server.Feed(alter.ToBytes(PduType.AlterContext, 9));

        PduHeader header = PduHeader.Read(answer);
        BindAckPdu ack = BindAckPdu.Read(header, answer)!;
        Assert.Equal((PduType.AlterContextResponse, 9u), (header.Type, header.CallId));
        Assert.Equal("", ack.SecondaryAddress);
        Assert.Equal(ContextResult.Accepted, ack.Results.Single());
        byte[] call = Conversation.Fragment(Conversation.RequestStub(Hello), PduFlags.Single, context: 7);
        Assert.Equal(PduType.Response, TypeOf(server.Feed(call)));
    }

    [Fact]
    public static void Contexts_are_limited()
    {
        using ServerAssociation server = Conversation.Server(new RpcLimits { MaxContexts = 3 });
        BindPdu bind = new(5840, 5840, 0, [.. Enumerable.Range(0, 255).Select(
            i => new ContextProposal((ushort)i, SyntaxId.Interface(Conversation.Service), [SyntaxId.Ndr]))]);

        byte[] answer = server.Feed(bind.ToBytes(PduType.Bind, 1));

        BindAckPdu ack = BindAckPdu.Read(PduHeader.Read(answer), answer)!;
        Assert.Equal(3, ack.Results.Count(r => r == ContextResult.Accepted));
        Assert.Equal(252, ack.Results.Count(r => r == ContextResult.Refused(ContextResult.LocalLimit)));
    }

    [Theory]
    [InlineData(4, BindNakReason.ProtocolVersion, 0)]
    [InlineData(6, BindNakReason.ProtocolVersion, 0)]
    [InlineData(5, BindNakReason.Unspecified, 4)]
    public static void A_bind_of_another_version_or_with_ebcdic_is_refused(
        byte version, object reason, int ebcdicAt)
    {
        byte[] bind = Conversation.Bind();
        bind[0] = version;
        if (ebcdicAt > 0)
        {
            bind[ebcdicAt] = 0x11;
        }

        using ServerAssociation server = Conversation.Server();
        byte[] answer = server.Feed(bind);

        Assert.True(BindNakPdu.TryReadReason(PduHeader.Read(answer), answer, out BindNakReason told));
        Assert.Equal((BindNakReason)reason, told);
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_bind_with_security_is_refused_with_the_reason()
    {
        using ServerAssociation server = Conversation.Server();

        byte[] answer = server.Feed(WireVector.Load("bind-ntlm").Bytes);

        Assert.True(BindNakPdu.TryReadReason(PduHeader.Read(answer), answer, out BindNakReason reason));
        Assert.Equal(BindNakReason.AuthenticationType, reason);
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void A_second_bind_is_refused()
    {
        using ServerAssociation server = Bound();

        Assert.Equal(PduType.BindNak, TypeOf(server.Feed(Conversation.Bind())));
        Assert.True(server.IsClosed());
    }
}
