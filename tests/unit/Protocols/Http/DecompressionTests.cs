using System.Buffers;
using System.IO.Compression;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

public static class DecompressionTests
{
    public static TheoryData<string, int> Bodies
    {
        get
        {
            TheoryData<string, int> data = [];
            foreach (string encoding in ContentEncoding.All.Select(encoding => encoding.Name))
            {
                data.Add(encoding, 0);
                data.Add(encoding, 1);
                data.Add(encoding, 100);
                data.Add(encoding, 100_000);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public static async Task Reads_what_is_whole(string encoding, int size)
    {
        byte[] plain = Plain(size);
        byte[] packed = Pack(encoding, plain);

        foreach (int chunk in new[] { 1, 7, 1 << 20 })
        {
            Assert.Equal(plain, ReadToEnd(encoding, packed, chunk));
            Assert.Equal(plain, await ReadToEndAsync(encoding, packed, chunk));
        }
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public static async Task Refuses_what_is_cut_off_at_any_offset(string encoding, int size)
    {
        byte[] packed = Pack(encoding, Plain(size));

        int step = Math.Max(1, packed.Length / 200);
        foreach (int length in Enumerable.Range(1, packed.Length - 1).Where(
            n => n % step == 0 || n < 20 || n > packed.Length - 20))
        {
            Assert.Throws<InvalidDataException>(() => ReadToEnd(encoding, packed[..length], 64));
            await Assert.ThrowsAsync<InvalidDataException>(
                () => ReadToEndAsync(encoding, packed[..length], 1 << 20));
        }
    }

    [Fact]
    public static void Refuses_a_wrong_checksum_and_what_is_not_compressed()
    {
        foreach (string encoding in new[] { "gzip", "deflate" })
        {
            byte[] packed = Pack(encoding, Plain(100));
            packed[^(encoding == "gzip" ? 5 : 1)] ^= 1;

            Assert.Throws<InvalidDataException>(() => ReadToEnd(encoding, packed, 64));
        }

        foreach (string encoding in ContentEncoding.All.Select(encoding => encoding.Name))
        {
            Assert.Throws<InvalidDataException>(
                () => ReadToEnd(encoding, "not compressed at all"u8.ToArray(), 64));
        }
    }

    [Fact]
    public static void Reads_several_gzip_members_and_refuses_a_cut_last_one()
    {
        byte[] two = [.. Pack("gzip", "one "u8.ToArray()), .. Pack("gzip", "two"u8.ToArray())];

        Assert.Equal("one two"u8.ToArray(), ReadToEnd("gzip", two, 1 << 20));
        Assert.Throws<InvalidDataException>(() => ReadToEnd("gzip", two[..^3], 1 << 20));
    }

    [Fact]
    public static void A_cut_message_of_gRPC_is_refused()
    {
        byte[] packed = ContentEncoding.Gzip.Encode(Plain(100));

        Assert.Equal(Plain(100), GrpcEncoding.Decompress(new(packed), "gzip", 1000).ToArray());
        for (int length = 1; length < packed.Length; length++)
        {
            ReadOnlySequence<byte> cut = new(packed, 0, length);
            RpcException error =
                Assert.Throws<RpcException>(() => GrpcEncoding.Decompress(cut, "gzip", 1000));
            Assert.Equal(RpcStatusCode.Internal, error.Code);
        }
    }

    private static byte[] Plain(int size) => [.. Enumerable.Range(0, size).Select(i => (byte)(i * i % 251))];

    private static byte[] Pack(string encoding, byte[] plain)
    {
        using MemoryStream packed = new();
        using (Stream stream = encoding switch
        {
            "gzip" => new GZipStream(packed, CompressionLevel.Optimal, leaveOpen: true),
            "deflate" => new ZLibStream(packed, CompressionLevel.Optimal, leaveOpen: true),
            _ => new BrotliStream(packed, CompressionLevel.Optimal, leaveOpen: true),
        })
        {
            stream.Write(plain);
        }

        // .NET writes nothing at all for nothing.
        return packed.Length > 0 ? packed.ToArray()
            : encoding switch
            {
                "gzip" => [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                "deflate" => [0x78, 0x9c, 3, 0, 0, 0, 0, 1],
                _ => [0x3b],
            };
    }

    private static byte[] ReadToEnd(string encoding, byte[] packed, int chunk)
    {
        using Stream stream = Decompression.TryOpen(new Chunks(packed, chunk), encoding)!;
        using MemoryStream plain = new();
        byte[] buffer = new byte[256];
        int count;
        while ((count = stream.Read(buffer)) > 0)
        {
            plain.Write(buffer, 0, count);
        }

        return plain.ToArray();
    }

    private static async Task<byte[]> ReadToEndAsync(string encoding, byte[] packed, int chunk)
    {
        await using Stream stream = Decompression.TryOpen(new Chunks(packed, chunk), encoding)!;
        using MemoryStream plain = new();
        byte[] buffer = new byte[256];
        int count;
        while ((count = await stream.ReadAsync(buffer)) > 0)
        {
            plain.Write(buffer, 0, count);
        }

        return plain.ToArray();
    }

    // Bytes as a network may bring them.
    private sealed class Chunks(byte[] bytes, int chunk) : MemoryStream(bytes)
    {
        public override int Read(Span<byte> buffer) => base.Read(buffer[..Math.Min(chunk, buffer.Length)]);

        public override int Read(byte[] buffer, int offset, int count) =>
            base.Read(buffer, offset, Math.Min(chunk, count));

        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            base.ReadAsync(buffer[..Math.Min(chunk, buffer.Length)], cancellationToken);
    }
}
