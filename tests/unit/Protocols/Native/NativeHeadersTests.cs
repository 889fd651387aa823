using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Protocols.Native;

public static class NativeHeadersTests
{
    // What the original's client sends for Send(MyRequest{message="Hello"}), built from the field numbers.
    private static readonly byte[] OriginalRequest = Convert.FromHexString(
        "1A" + "1204" + "53656E64" + "1A10" + "A0A1A2A3A4A5A6A7A8A9AAABACADAEAF" + "2A00" + "0A05"
            + "48656C6C6F");

    [Fact]
    public static void Reads_a_request_of_the_original()
    {
        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, OriginalRequest, out ReadOnlySpan<byte> body);

        Assert.Equal("Send", header.MethodName);
        Assert.Equal(0xA0, header.MessageId[0]);
        Assert.NotNull(header.CallContext);
        Assert.Equal("0A0548656C6C6F", Convert.ToHexString(body));
    }

    [Fact]
    public static void Writes_a_request_as_the_original_does()
    {
        ArrayBufferWriter<byte> output = new();
        RpcRequestHeader header = new()
        {
            MethodName = "Send",
            MessageId = ByteString.CopyFrom(Convert.FromHexString("A0A1A2A3A4A5A6A7A8A9AAABACADAEAF")),
            CallContext = new RpcCallContext(),
        };

        NativeHeaders.Write(output, header, body: null);

        Assert.Equal(Convert.ToHexString(OriginalRequest[..27]), Convert.ToHexString(output.WrittenSpan));
    }

    [Fact]
    public static void A_payload_cut_inside_the_header_is_refused_at_every_offset()
    {
        for (int length = 0; length < 27; length++)
        {
            byte[] cut = OriginalRequest[..length];
            RpcException error = Assert.Throws<RpcException>(
                () => NativeHeaders.Read(NativeHeaders.RequestParser, cut, out _));
            Assert.Equal("BadHeader", error.ErrorId);
        }
    }

    [Theory]
    [InlineData("FFFFFFFFFF")]
    [InlineData("FFFFFFFF7F00")]
    [InlineData("8080808080808001")]
    [InlineData("05FFFFFFFFFF")]
    public static void A_length_that_lies_is_refused(string hex)
    {
        byte[] payload = Convert.FromHexString(hex);

        RpcException error = Assert.Throws<RpcException>(
            () => NativeHeaders.Read(NativeHeaders.RequestParser, payload, out _));

        Assert.Equal(RpcStatusCode.Internal, error.Code);
    }

    [Fact]
    public static void An_empty_header_leaves_the_whole_body()
    {
        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, [0, 1, 2], out ReadOnlySpan<byte> body);

        Assert.False(header.HasMethodName);
        Assert.Equal(2, body.Length);
    }
}
