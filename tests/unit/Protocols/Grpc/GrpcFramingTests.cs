using System.Buffers;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Tests.Protocols.Grpc;

public static class GrpcFramingTests
{
    private const int Limit = 1000;

    [Fact]
    public static void Waits_until_the_last_byte_is_there()
    {
        byte[] whole = [0, 0, 0, 0, 3, 1, 2, 3];
        for (int length = 0; length < whole.Length; length++)
        {
            ReadOnlySequence<byte> part = new(whole, 0, length);

            Assert.False(GrpcFraming.TryRead(ref part, Limit, out _));
            Assert.Equal(length, part.Length);
        }
    }

    [Fact]
    public static void Leaves_what_comes_after_the_message()
    {
        ReadOnlySequence<byte> buffer = new([1, 0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 9]);

        Assert.True(GrpcFraming.TryRead(ref buffer, Limit, out GrpcFrame first));
        Assert.True(first.IsCompressed);
        Assert.Equal([7, 8], first.Body.ToArray());
        Assert.True(GrpcFraming.TryRead(ref buffer, Limit, out GrpcFrame second));
        Assert.True(second.Body.IsEmpty);
        Assert.Equal([9], buffer.ToArray());
    }

    [Fact]
    public static void Refuses_a_length_over_the_limit_before_the_body_comes()
    {
        ReadOnlySequence<byte> most = new([0, 0, 0, 3, 0xe8]);
        ReadOnlySequence<byte> more = new([0, 0, 0, 3, 0xe9]);

        Assert.False(GrpcFraming.TryRead(ref most, Limit, out _));
        RpcException error = Assert.Throws<RpcException>(() => GrpcFraming.TryRead(ref more, Limit, out _));
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public static void Never_throws_anything_else_on_any_bytes()
    {
        Random random = new(7);
        for (int i = 0; i < 10_000; i++)
        {
            byte[] bytes = new byte[random.Next(64)];
            random.NextBytes(bytes);
            ReadOnlySequence<byte> buffer = new(bytes);
            try
            {
                while (GrpcFraming.TryRead(ref buffer, Limit, out GrpcFrame frame))
                {
                    if (frame.IsCompressed)
                    {
                        GrpcEncoding.Decompress(frame.Body, ContentEncoding.Gzip.Name, Limit);
                    }
                }
            }
            catch (RpcException e)
            {
                Assert.True(e.Code is RpcStatusCode.Internal or RpcStatusCode.ResourceExhausted);
            }
        }
    }

    [Fact]
    public static void Compression_is_undone_up_to_the_limit()
    {
        ReadOnlySequence<byte> most = new(ContentEncoding.Gzip.Encode(new byte[Limit]));
        ReadOnlySequence<byte> more = new(ContentEncoding.Gzip.Encode(new byte[Limit + 1]));

        Assert.Equal(Limit, GrpcEncoding.Decompress(most, ContentEncoding.Gzip.Name, Limit).Length);
        Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(more, ContentEncoding.Gzip.Name, Limit));
    }

    [Fact]
    public static void An_empty_message_is_not_compressed()
    {
        ArrayBufferWriter<byte> output = new();

        int length = GrpcFrameWriter.Write(output, new Empty(), ContentEncoding.Gzip);

        Assert.Equal(0, length);
        Assert.Equal([0, 0, 0, 0, 0], output.WrittenSpan.ToArray());
    }

    [Fact]
    public static void Requests_are_compressed_with_what_the_table_says_of_gRPC()
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse("grpc://localhost:1");

        Assert.Null(GrpcEncoding.Select(RpcCompression.None, endpoint));
        foreach (ContentEncoding encoding in ContentEncoding.All)
        {
            if (encoding is { IsSentByGrpc: true, Compression: { } compression })
            {
                Assert.Same(encoding, GrpcEncoding.Select(compression, endpoint));
            }
        }

        RpcException error = Assert.Throws<RpcException>(
            () => GrpcEncoding.Select(RpcCompression.Brotli, endpoint));
        Assert.Equal(RpcErrorIds.CompressionNotSupported, error.ErrorId);
        Assert.Contains("Use Gzip or None.", error.Message);
    }

    [Fact]
    public static void A_compressed_message_without_bytes_is_the_empty_message()
    {
        Assert.True(GrpcEncoding.Decompress(default, ContentEncoding.Gzip.Name, Limit).IsEmpty);
        Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(default, encoding: null, Limit));
        Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(default, "snappy", Limit));
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("x-gzip")]
    [InlineData("Deflate")]
    [InlineData("br")]
    public static void Messages_of_each_encoding_are_read(string name)
    {
        byte[] message = [.. Enumerable.Repeat((byte)7, 500)];
        ReadOnlySequence<byte> packed = new(ContentEncoding.Find(name)!.Encode(message));

        Assert.Equal(message, GrpcEncoding.Decompress(packed, name, Limit).ToArray());
        Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(packed.Slice(0, 5), name, Limit));
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("deflate")]
    [InlineData("br")]
    public static void No_encoding_inflates_beyond_the_limit(string name)
    {
        ReadOnlySequence<byte> bomb = new(ContentEncoding.Find(name)!.Encode(new byte[100 * Limit]));

        RpcException error = Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(bomb, name, Limit));
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }
}
