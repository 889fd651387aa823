using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Protocols.Native;

/// <summary>Lengths near to 2 GiB: parsers must not take the sum with a position for a negative
/// one.</summary>
public static class HugeLengthTests
{
    // A message in the header (field 5 or 8), 2 GiB less one long, and in it the start of a group whose value
    // is cut off.
    private static readonly byte[][] Bodies =
    [
        [0x2A, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0x53, 0x69, 0x63, 0x31, 0x0A, 0x18, 0x32],
        [0x2A, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0x53, 0x6D, 0x63],
        [0x42, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0xFB, 0x07, 0x69, 0x63],
        [0x42, 0xFE, 0xFF, 0xFF, 0xFF, 0x07, 0x69, 0x63, 0x31],
    ];

    public static TheoryData<string> Headers => [.. Bodies.SelectMany(body => Enumerable
        .Range(1, body.Length).Select(length => Convert.ToHexString(body.AsSpan(0, length)))).Distinct()];

    [Theory]
    [MemberData(nameof(Headers))]
    public static void A_header_is_refused_as_one(string hex)
    {
        byte[] body = Convert.FromHexString(hex);
        byte[] payload = [(byte)body.Length, .. body];

        RpcException request = Assert.Throws<RpcException>(
            () => NativeHeaders.Read(NativeHeaders.RequestParser, payload, out _));
        RpcException response = Assert.Throws<RpcException>(
            () => NativeHeaders.Read(NativeHeaders.ResponseParser, payload, out _));

        Assert.Equal(("BadHeader", "BadHeader"), (request.ErrorId, response.ErrorId));
    }

    [Fact]
    public static void A_generated_message_is_refused_as_any_other_that_is_malformed()
    {
        foreach (byte[] body in Bodies)
        {
            RpcException error = Assert.Throws<RpcException>(() => MessageFormats.Binary.Read(
                new System.Buffers.ReadOnlySequence<byte>(body), new RpcResponseHeader()));

            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        }
    }
}
