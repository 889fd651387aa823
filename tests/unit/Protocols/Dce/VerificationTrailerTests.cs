using System.Buffers.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class VerificationTrailerTests
{
    private const ushort End = 0x4000;
    private const ushort MustUnderstand = 0x8000;
    private static readonly byte[] Magic = [0x8A, 0xE3, 0x13, 0x71, 0x02, 0xF4, 0x36, 0x71];

    [Fact]
    public static void What_agrees_is_taken()
    {
        Assert.True(IsServed([]));
        Assert.True(IsServed([.. Magic, .. Command(1 | End, [1, 0, 0, 0])]));
        Assert.True(
            IsServed([.. Magic, .. Command(1, [0, 0, 0, 0]), .. Command(2, Syntaxes(Conversation.Service)),
            .. Command(3 | MustUnderstand | End, Header(2, 0, 0))]));
        Assert.True(IsServed([.. Magic, .. Command(99 | End, [1, 2, 3, 4, 5])]));
    }

    [Fact]
    public static void What_does_not_agree_is_denied()
    {
        Assert.False(IsServed([.. Magic, .. Command(2 | End, Syntaxes(Guid.NewGuid()))]));
        Assert.False(IsServed([.. Magic, .. Command(3 | End, Header(3, 0, 0))]));
        Assert.False(IsServed([.. Magic, .. Command(3 | End, Header(2, 1, 0))]));
        Assert.False(IsServed([.. Magic, .. Command(3 | End, Header(2, 0, 1))]));
        Assert.False(IsServed([.. Magic, .. Command(99 | MustUnderstand | End, [])]));
    }

    [Fact]
    public static void A_header_signing_that_somebody_took_out_of_the_bind_shows()
    {
        byte[] trailer = [.. Magic, .. Command(1 | End, [1, 0, 0, 0])];

        Assert.True(IsServed(trailer, signsHeaders: true));
        Assert.False(IsServed(trailer, signsHeaders: false));
    }

    [Fact]
    public static void A_trailer_that_is_cut_or_has_no_end_is_denied()
    {
        byte[] whole =
            [.. Magic, .. Command(1, [1, 0, 0, 0]), .. Command(2 | End, Syntaxes(Conversation.Service))];
        Assert.True(IsServed(whole));
        for (int length = Magic.Length; length < whole.Length; length++)
        {
            Assert.False(IsServed(whole[..length]), $"{length} octets");
        }

        Assert.False(IsServed([.. Magic, .. Command(1 | End, [1, 0, 0])]));
        Assert.False(IsServed([.. Magic, .. Command(2 | End, [.. Syntaxes(Conversation.Service), 0])]));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public static void A_length_of_a_command_that_lies_is_denied(int type)
    {
        byte[] value =
            type switch { 1 => [1, 0, 0, 0], 2 => Syntaxes(Conversation.Service), _ => Header(2, 0, 0) };
        for (int length = 0; length < value.Length; length++)
        {
            Assert.False(IsServed([.. Magic, .. Command(type | End, value[..length])]), $"{length} octets");
        }

        foreach (ushort lie in new ushort[] { (ushort)(value.Length + 1), 0x7FFF, 0x8000, 0xFFFF })
        {
            byte[] command = Command(type | End, value);
            BinaryPrimitives.WriteUInt16LittleEndian(command.AsSpan(2), lie);

            Assert.False(IsServed([.. Magic, .. command]), $"{lie}");
        }
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect, false)]
    [InlineData(RpcProtectionLevel.Packet, false)]
    [InlineData(RpcProtectionLevel.Integrity, true)]
    public static void Our_client_says_what_it_means_from_Integrity_on(
        RpcProtectionLevel level, bool isSent)
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(level);
        SecuredClient.Converse(client, server, client.Bind(0));

        byte[] request = SecuredClient.Request(client, "Hi"u8);

        byte[] arguments = Conversation.RequestStub("Hi"u8);
        byte[] trailer =
        [
            0, 0, .. Magic, .. Command(1, [1, 0, 0, 0]), .. Command(2, Syntaxes(Conversation.Service)),
            .. Command(3 | End, Header(2, 0, 0)),
        ];
        byte[] stub = isSent ? [.. arguments, .. trailer] : arguments;
        Assert.True(CallPdu.TryRead(PduHeader.Read(request), request, out CallPdu call));
        Assert.Equal(stub, request[call.StubOffset..(call.StubOffset + call.StubLength)]);
        Assert.Equal(PduType.Response, ServerAnswers.TypeOf(server.Feed(request)));
    }

    [Fact]
    public static void One_fragment_has_the_whole_trailer_and_payloads_of_the_limit_are_served()
    {
        const int Limit = 12_000;
        using ServerAssociation server = NewServer(new RpcLimits { MaxMessageBytes = Limit });
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        SecuredClient.Converse(client, server, client.Bind(0));
        byte[] payload = new byte[Limit];
        for (int length = 5_500; length <= Limit; length += length < 6_000 ? 1 : 997)
        {
            byte[] request = SecuredClient.Request(client, payload.AsSpan(0, length));

            int last = 0;
            while (last + PduHeader.Read(request.AsSpan(last)).FragmentLength < request.Length)
            {
                last += PduHeader.Read(request.AsSpan(last)).FragmentLength;
            }

            Assert.True(request.AsSpan().LastIndexOf(Magic) > last, $"{length} octets");
            Assert.Equal(ClientStep.Reply, SecuredClient.Deliver(client, server.Feed(request)));
            Assert.Equal(length, client.Reply.Length);
        }

        byte[] over = server.Feed(SecuredClient.Request(client, new byte[Limit + 1]));
        ServerAnswers.AssertFault(over, FaultStatus.RequestTooLarge);
    }

    [Fact]
    public static void Octets_that_are_no_trailer_are_padding()
    {
        Assert.True(IsServed(new byte[13]));
        Assert.True(IsServed(Magic[..7]));
    }

    private static ServerAssociation NewServer(RpcLimits? limits = null)
    {
        SecurityPolicy policy = new(new RpcServerSecurity
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(NtlmVectors.Credential)],
            MinimumLevel = RpcProtectionLevel.Connect,
        });
        return new ServerAssociation(limits ?? RpcLimits.Default, "135", _ => true)
        {
            Security = new ServerSecurity(_ => policy, static () => PeerIdentity.Anonymous("")),
        };
    }

    private static bool IsServed(byte[] trailer, bool signsHeaders = true)
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        byte[] bind = client.Bind(0);
        if (!signsHeaders)
        {
            bind[3] &= 0xFB;
        }

        SecuredClient.Converse(client, server, bind);

        // Two octets of payload, so two of padding stand before the trailer.
        byte[] stub = [.. Conversation.RequestStub("Hi"u8), 0, 0, .. trailer];
        using FragmentWriter writer = new() { Protection = client.Protection };
        writer.Begin(Conversation.Join(new byte[PduHeader.CallSize], stub), PduType.Request, 2, 0, 5840);
        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> request));
        byte[] answer = server.Feed(request.Span);
        PduType type = PduHeader.Read(answer).Type;
        if (type == PduType.Fault)
        {
            Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(answer), answer, out uint status));
            Assert.Equal(FaultStatus.AccessDenied, status);
        }

        return type == PduType.Response;
    }

    private static byte[] Command(int type, byte[] value)
    {
        byte[] command = new byte[4 + value.Length];
        BinaryPrimitives.WriteUInt16LittleEndian(command, (ushort)type);
        BinaryPrimitives.WriteUInt16LittleEndian(command.AsSpan(2), (ushort)value.Length);
        value.CopyTo(command, 4);
        return command;
    }

    private static byte[] Syntaxes(Guid service)
    {
        byte[] value = new byte[2 * SyntaxId.Size];
        PduWriter writer = new(value, 0);
        writer.WriteSyntax(SyntaxId.Interface(service));
        writer.WriteSyntax(SyntaxId.Ndr);
        return value;
    }

    private static byte[] Header(uint callId, ushort context, ushort operation)
    {
        byte[] value = new byte[16];
        value[4] = 0x10;
        PduWriter writer = new(value, 8);
        writer.WriteUInt32(callId);
        writer.WriteUInt16(context);
        writer.WriteUInt16(operation);
        return value;
    }
}
