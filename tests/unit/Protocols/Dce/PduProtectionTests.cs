using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class PduProtectionTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(20_000)]
    public static void Sealed_fragments_are_opened_on_the_other_side(int length)
    {
        byte[] payload = Transports.ClientCalls.Bytes(length);
        using ClientAssociation client = new(RpcEndpoint.Local("x"), Conversation.Service, RpcLimits.Default);
        using ServerAssociation server = Conversation.Server();
        Deliver(client, server.Feed(client.Bind(0)));
        client.Protection = new Seal();
        server.Protection = new Seal();
        byte[] request = Send(client, payload);

        if (length > 0)
        {
            Assert.True(request.AsSpan().IndexOf(payload.AsSpan(0, Math.Min(64, length))) < 0 || length == 1);
        }

        Assert.Equal(0, (PduHeader.Read(request).FragmentLength - PduHeader.CallSize - 8 - Seal.Length) % 16);
        Assert.Equal(ClientStep.Reply, Deliver(client, server.Feed(request)));
        Assert.Equal(payload, client.Reply.ToArray());
    }

    [Theory]
    [InlineData("flipped")]
    [InlineData("not protected")]
    [InlineData("other level")]
    public static void A_request_that_is_not_protected_as_agreed_is_denied(string fault)
    {
        using ClientAssociation client = new(RpcEndpoint.Local("x"), Conversation.Service, RpcLimits.Default);
        using ServerAssociation server = Conversation.Server();
        Deliver(client, server.Feed(client.Bind(0)));
        client.Protection = fault == "not protected" ? null : new Seal();
        server.Protection = new Seal();
        byte[] request = Send(client, "Hello"u8.ToArray());
        if (fault == "flipped")
        {
            request[30] ^= 1;
        }
        else if (fault == "other level")
        {
            request[^(Seal.Length + 7)] = 1;
        }

        byte[] answer = server.Feed(request);

        Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(answer), answer, out uint status));
        Assert.Equal(FaultStatus.AccessDenied, status);
        Assert.True(server.IsClosed());
    }

    [Fact]
    public static void Octets_after_the_arguments_are_normal_on_a_protected_request()
    {
        byte[] stub = Conversation.Join(Conversation.RequestStub("Hi"u8), [0, 0, 0x8A, 0xE3, 0x13, 0x71]);
        using FragmentWriter writer = new() { Protection = new Seal() };
        writer.Begin(Conversation.Join(new byte[PduHeader.CallSize], stub), PduType.Request, 2, 0, 5840);
        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> request));
        using ServerAssociation server = Conversation.Server();
        server.Feed(Conversation.Bind());
        server.Protection = new Seal();

        byte[] answer = server.Feed(request.Span);

        Assert.Equal(PduType.Response, PduHeader.Read(answer).Type);
    }

    private static byte[] Send(ClientAssociation client, byte[] payload)
    {
        using PooledMessageBytes request = new(
            1 << 20, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
        System.Buffers.BuffersExtensions.Write(request, payload);
        client.BeginCall(request);
        List<byte> sent = [];
        while (client.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            sent.AddRange(bytes.Span);
        }

        return [.. sent];
    }

    private static ClientStep Deliver(ClientAssociation client, byte[] bytes)
    {
        ClientStep step = ClientStep.Receive;
        for (int start = 0; start < bytes.Length;)
        {
            Memory<byte> free = client.GetFreeMemory();
            int count = Math.Min(free.Length, bytes.Length - start);
            bytes.AsSpan(start, count).CopyTo(free.Span);
            client.Advance(count);
            start += count;
            step = client.Step();
        }

        return step;
    }

    // Turns every bit of the stub, and signs with a counter and a sum: order and damage show.
    private sealed class Seal : PduProtection
    {
        public const int Length = 16;
        private uint _sent;
        private uint _received;

        // The level Packet: such requests end with their arguments.
        public override AuthTrailer Trailer => new(10, 4, 0, 79231);

        public override int SignatureLength => Length;

        public override void Protect(Span<byte> pdu, int stubOffset)
        {
            pdu[^Length..].Clear();
            BitConverter.TryWriteBytes(pdu[^Length..], Sum(pdu, _sent++));
            Turn(pdu, stubOffset);
        }

        public override bool TryUnprotect(Span<byte> pdu, int stubOffset, int signatureLength)
        {
            Assert.Equal(Length, signatureLength);
            Turn(pdu, stubOffset);
            return BitConverter.ToUInt32(pdu[^Length..]) == Sum(pdu, _received++);
        }

        private static void Turn(Span<byte> pdu, int stubOffset)
        {
            foreach (ref byte octet in pdu[stubOffset..^(AuthTrailer.Size + Length)])
            {
                octet ^= 0xFF;
            }
        }

        private static uint Sum(Span<byte> pdu, uint sequence)
        {
            uint sum = 17 + sequence;
            foreach (byte octet in pdu[..^Length])
            {
                sum = (sum * 31) + octet;
            }

            return sum;
        }
    }
}
