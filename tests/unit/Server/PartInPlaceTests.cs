using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Server.Native;
using Status = ProtoRpc.Protocols.Headers.RpcMultiPartRequest.Types.RpcMessageStatus;

namespace ProtoRpc.Tests.Server;

public static class PartInPlaceTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(127)]
    [InlineData(128)]
    [InlineData(300_000)]
    public static void A_part_is_read_where_it_lies(int length)
    {
        RpcMultiPartRequest part = Part(length);
        byte[] bytes = part.ToByteArray();

        RpcMultiPartRequest? read = PartInPlace.TryRead(bytes);

        Assert.Equal(part, read);
        Assert.True(length == 0 || read!.PayloadBytes.Span.Overlaps(bytes));
    }

    [Fact]
    public static void Fields_that_are_not_known_are_kept_before_the_payload()
    {
        byte[] bytes = [0x78, 0x01, 0x7A, 0x02, 1, 2, .. Part(10).ToByteArray()];

        Assert.Equal(RpcMultiPartRequest.Parser.ParseFrom(bytes), PartInPlace.TryRead(bytes));
    }

    [Fact]
    public static void Bytes_that_are_cut_or_have_more_are_left_to_the_parser()
    {
        byte[] bytes = Part(10).ToByteArray();

        Assert.All(
            Enumerable.Range(0, bytes.Length),
            length => Assert.Null(PartInPlace.TryRead(bytes.AsMemory(0, length))));
        Assert.Null(PartInPlace.TryRead((byte[])[.. bytes, 0x08, 0x01]));
    }

    [Theory]
    [InlineData("")]
    [InlineData("3A")]
    [InlineData("3AFFFFFFFFFFFFFFFFFF01")]
    [InlineData("3AFFFFFFFFFFFFFFFFFFFF01")]
    [InlineData("12FFFFFFFF0F3A00")]
    [InlineData("0D010000003A00")]
    [InlineData("0B0C3A00")]
    [InlineData("80013A00")]
    [InlineData("00003A00")]
    [InlineData("1A01FF3A00")]
    public static void Bytes_of_another_form_are_left_to_the_parser(string hex)
    {
        byte[] bytes = Convert.FromHexString(hex);
        RpcMultiPartRequest? read = PartInPlace.TryRead(bytes);

        Assert.True(read is null || read.Equals(RpcMultiPartRequest.Parser.ParseFrom(bytes)));
    }

    [Fact]
    public static void Random_bytes_are_read_as_the_parser_reads_them_or_not_at_all()
    {
        Random random = new(13);
        byte[] good = Part(20).ToByteArray();
        for (int i = 0; i < 20_000; i++)
        {
            byte[] bytes = [.. good];
            bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
            if (PartInPlace.TryRead(bytes) is { } read)
            {
                Assert.Equal(RpcMultiPartRequest.Parser.ParseFrom(bytes), read);
            }
        }
    }

    private static RpcMultiPartRequest Part(int length)
    {
        byte[] payload = new byte[length];
        new Random(length).NextBytes(payload);
        return new RpcMultiPartRequest
        {
            MessageStatus = Status.Continue,
            TransactionId = ByteString.CopyFrom(new byte[16]),
            MethodName = "Say",
            TotalBytes = int.MaxValue,
            CurrentPosition = 300,
            BytesSent = length,
            PayloadBytes = ByteString.CopyFrom(payload),
        };
    }
}
