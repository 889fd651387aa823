using System.Buffers;
using System.Text;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Protocols.Native;

public static class PlainHeadersTests
{
    private static readonly byte[] Id = Convert.FromHexString("A0A1A2A3A4A5A6A7A8A9AAABACADAEAF");
    private static readonly byte[] Body = [1, 2, 3];

    [Theory]
    [InlineData("Send", null)]
    [InlineData("Send", 1u)]
    [InlineData("S", 127u)]
    [InlineData("Send", 128u)]
    [InlineData("Send", 30_000u)]
    [InlineData("A_much_longer_name_of_a_method_than_most_have", uint.MaxValue)]
    public static void A_request_has_the_bytes_of_a_header_message(string method, uint? timeout)
    {
        ArrayBufferWriter<byte> output = new();

        bool isWritten = PlainHeaders.TryWriteRequest(output, method, Id, timeout);

        Assert.True(isWritten);
        Assert.Equal(Convert.ToHexString(Request(method, timeout)), Convert.ToHexString(output.WrittenSpan));
    }

    [Theory]
    [InlineData("Send", null)]
    [InlineData("A_name_of_a_method_with_forty_characters", uint.MaxValue)]
    public static void A_request_of_the_first_gateway_has_the_bytes_of_its_header_and_is_read(
        string method, uint? timeout)
    {
        ArrayBufferWriter<byte> output = new();

        Assert.True(PlainHeaders.TryWriteRequest(output, method, Id, timeout, isFirstHop: true));

        byte[] bytes = output.WrittenSpan.ToArray();
        Metadata? headers = NativeHeaders.Read(NativeHeaders.RequestParser, bytes, out _)
            .GetExtension(ProtorpcTransportExtensions.RequestHeaders);
        Metadata.Types.Entry only = Assert.Single(headers!.Entries);
        Assert.Equal(("protorpc-hops", "1"), (only.Name, only.Text));
        Assert.True(PlainHeaders.TryReadRequest(bytes, out PlainRequest request));
        Assert.True(request.IsFirstHop);
        Assert.Equal(timeout, request.Timeout);
        Assert.Equal(bytes.Length, request.BodyStart);
        for (int length = 0; length < bytes.Length; length++)
        {
            Assert.False(PlainHeaders.TryReadRequest(bytes.AsSpan(0, length), out _));
        }

        // A second gateway, or any other header, is left to the header message.
        bytes[^1] = (byte)'2';
        Assert.False(PlainHeaders.TryReadRequest(bytes, out _));
    }

    [Theory]
    [InlineData(null, false)]
    [InlineData(null, true)]
    [InlineData(30_000u, false)]
    [InlineData(uint.MaxValue, true)]
    public static void A_request_for_an_interface_has_the_bytes_of_its_header_and_is_read(
        uint? timeout, bool isFirstHop)
    {
        byte[] own = Convert.FromHexString("B0B1B2B3B4B5B6B7B8B9BABBBCBDBEBF");
        ArrayBufferWriter<byte> output = new();

        Assert.True(PlainHeaders.TryWriteRequest(output, "Send", Id, timeout, isFirstHop, own));

        byte[] bytes = output.WrittenSpan.ToArray();
        RpcRequestHeader header = NativeHeaders.Read(NativeHeaders.RequestParser, bytes, out _);
        Assert.Equal(own, header.GetExtension(ProtorpcTransportExtensions.InterfaceId).ToByteArray());
        Assert.Equal(bytes, Framed(header));
        Assert.True(PlainHeaders.TryReadRequest(bytes, out PlainRequest request));
        Assert.Equal(own, bytes[request.Interface]);
        Assert.Equal((timeout, isFirstHop), (request.Timeout, request.IsFirstHop));
        Assert.Equal(bytes.Length, request.BodyStart);
        for (int length = 0; length < bytes.Length; length++)
        {
            Assert.False(PlainHeaders.TryReadRequest(bytes.AsSpan(0, length), out _));
        }

        // Ids of another length, or two of them, are left to the header message.
        bytes[^17] = 15;
        Assert.False(PlainHeaders.TryReadRequest(bytes, out _));
        bytes[^17] = 17;
        Assert.False(PlainHeaders.TryReadRequest(bytes, out _));
    }

    [Theory]
    [InlineData("Grüße")]
    [InlineData("\uD800")]
    public static void A_name_that_is_not_ASCII_is_left_to_the_header_message(string method)
    {
        ArrayBufferWriter<byte> output = new();

        bool isWritten = PlainHeaders.TryWriteRequest(output, method, Id, 1);

        Assert.False(isWritten);
        Assert.Equal(0, output.WrittenCount);
    }

    [Fact]
    public static void Names_of_any_length_are_written_right_or_left_to_the_header_message()
    {
        for (int length = 1; length < 200; length++)
        {
            string method = new('m', length);
            ArrayBufferWriter<byte> output = new();
            bool isWritten = PlainHeaders.TryWriteRequest(output, method, Id, uint.MaxValue);

            byte[] expected = isWritten ? Request(method, uint.MaxValue) : [];
            Assert.Equal(Convert.ToHexString(expected), Convert.ToHexString(output.WrittenSpan));
            Assert.Equal(length < 95, isWritten);
        }
    }

    [Theory]
    [InlineData("Send", null)]
    [InlineData("Send", 0u)]
    [InlineData("Send", 30_000u)]
    [InlineData("Send", uint.MaxValue)]
    public static void A_request_is_read_as_it_was_written(string method, uint? timeout)
    {
        byte[] payload = [.. Request(method, timeout), .. Body];

        bool isRead = PlainHeaders.TryReadRequest(payload, out PlainRequest request);

        Assert.True(isRead);
        Assert.Equal(method, Encoding.UTF8.GetString(payload[request.Method]));
        Assert.Equal(Id, payload[request.Id]);
        Assert.True(request.HasContext);
        Assert.Equal(timeout, request.Timeout);
        Assert.Equal(Body, payload[request.BodyStart..]);
    }

    // What the original's client sends: no version, no timeout.
    [Fact]
    public static void A_request_of_the_original_is_read()
    {
        byte[] payload = Convert.FromHexString("1A120453656E641A10A0A1A2A3A4A5A6A7A8A9AAABACADAEAF2A00");

        Assert.True(PlainHeaders.TryReadRequest(payload, out PlainRequest request));
        Assert.Equal("Send"u8, payload.AsSpan()[request.Method]);
        Assert.Equal(Id, payload[request.Id]);
        Assert.True(request.HasContext);
        Assert.Null(request.Timeout);
        Assert.Equal(payload.Length, request.BodyStart);
    }

    [Fact]
    public static void A_request_without_context_is_read()
    {
        byte[] payload = Framed(new RpcRequestHeader { MethodName = "Send", MessageId = ByteString.Empty });

        Assert.True(PlainHeaders.TryReadRequest(payload, out PlainRequest request));
        Assert.False(request.HasContext);
        Assert.Empty(payload[request.Id]);
    }

    public static TheoryData<IMessage> Others => new()
    {
        new RpcRequestHeader(),
        new RpcRequestHeader { MethodName = "Send" },
        new RpcRequestHeader { MessageId = ByteString.CopyFrom(Id) },
        With(header => header.ContentLength = 3),
        With(header => header.CallContext = new RpcCallContext { SessionId = ByteString.CopyFrom(Id) }),
        With(header => header.SetExtension(ProtorpcTransportExtensions.RequestHeaders, new Metadata())),
        With(header => header.Version = -1),
        With(header => header.MethodName = new string('m', 200)),
        With(header => header.MergeFrom(new byte[] { 0xC0, 0x3E, 1 })),
    };

    [Theory]
    [MemberData(nameof(Others), DisableDiscoveryEnumeration = true)]
    public static void A_header_with_something_else_is_left_to_the_parser(IMessage header) =>
        Assert.False(PlainHeaders.TryReadRequest(Framed(header), out _));

    [Fact]
    public static void A_request_that_is_cut_is_left_to_the_parser_at_every_offset()
    {
        byte[] payload = Request("Send", 30_000);
        for (int length = 0; length < payload.Length; length++)
        {
            Assert.False(PlainHeaders.TryReadRequest(payload.AsSpan(0, length), out _));

            // The same with a length that is right, so that a field ends too early.
            byte[] shorter = payload[..length];
            if (length > 0)
            {
                shorter[0] = (byte)(length - 1);
            }

            AssertLikeParser(shorter);
        }
    }

    [Fact]
    public static void What_is_read_of_damaged_requests_is_what_the_parser_reads()
    {
        byte[] payload = Request("Send", 30_000);
        for (int position = 0; position < payload.Length; position++)
        {
            for (int value = 0; value <= byte.MaxValue; value++)
            {
                byte[] damaged = [.. payload, .. Body];
                damaged[position] = (byte)value;
                AssertLikeParser(damaged);
            }
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(16)]
    [InlineData(99)]
    public static void A_response_has_the_bytes_of_a_header_message(int idLength)
    {
        byte[] id = new byte[idLength];
        ArrayBufferWriter<byte> output = new();

        PlainHeaders.WriteResponse(output, id);

        byte[] expected = Framed(new RpcResponseHeader { MessageId = ByteString.CopyFrom(id) });
        Assert.Equal(Convert.ToHexString(expected), Convert.ToHexString(output.WrittenSpan));
        Assert.True(PlainHeaders.TryReadResponse([.. expected, .. Body], id, out ReadOnlySpan<byte> body));
        Assert.Equal(Body, body);
    }

    [Fact]
    public static void The_response_of_another_call_or_with_more_is_left_to_the_parser()
    {
        byte[] other = [.. Id];
        other[^1]++;
        ByteString id = ByteString.CopyFrom(Id);
        byte[] failed = Framed(new RpcResponseHeader { MessageId = id, Success = false });
        byte[] whole = Framed(new RpcResponseHeader { MessageId = id });

        Assert.False(PlainHeaders.TryReadResponse(whole, other, out _));
        Assert.False(PlainHeaders.TryReadResponse(failed, Id, out _));
        Assert.False(PlainHeaders.TryReadResponse(Framed(new RpcResponseHeader()), Id, out _));
        for (int length = 0; length < whole.Length; length++)
        {
            Assert.False(PlainHeaders.TryReadResponse(whole.AsSpan(0, length), Id, out _));
        }
    }

    // A header that is read here must mean the same to the parser.
    private static void AssertLikeParser(byte[] payload)
    {
        if (!PlainHeaders.TryReadRequest(payload, out PlainRequest request)
            || !Ascii.IsValid(payload[request.Method]))
        {
            return;
        }

        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, payload, out ReadOnlySpan<byte> body);
        Assert.Equal(header.MethodName, Encoding.ASCII.GetString(payload[request.Method]));
        Assert.Equal(header.MessageId, ByteString.CopyFrom(payload[request.Id]));
        Assert.Equal(header.CallContext is not null, request.HasContext);
        Assert.Equal(
            header.HasExtension(ProtorpcTransportExtensions.TimeoutMs), request.Timeout is not null);
        Assert.Equal(
            header.GetExtension(ProtorpcTransportExtensions.TimeoutMs), request.Timeout.GetValueOrDefault());
        Assert.Equal(body.Length, payload.Length - request.BodyStart);
    }

    private static RpcRequestHeader With(Action<RpcRequestHeader> change)
    {
        RpcRequestHeader header = new()
        {
            Version = 1,
            MethodName = "Send",
            MessageId = ByteString.CopyFrom(Id),
            CallContext = new RpcCallContext(),
        };
        change(header);
        return header;
    }

    private static byte[] Request(string method, uint? timeout) => Framed(With(header =>
    {
        header.MethodName = method;
        if (timeout is { } milliseconds)
        {
            header.SetExtension(ProtorpcTransportExtensions.TimeoutMs, milliseconds);
        }
    }));

    private static byte[] Framed(IMessage header)
    {
        ArrayBufferWriter<byte> output = new();
        NativeHeaders.Write(output, header, body: null);
        return output.WrittenSpan.ToArray();
    }
}
