using System.Security.Cryptography;
using System.Text;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

public static class CompressionProbeTests
{
    [Theory]
    [InlineData(1024)]
    [InlineData(4096)]
    [InlineData(1_000_000)]
    public static void Text_and_its_base64_shrink(int size)
    {
        byte[] text = Encoding.UTF8.GetBytes(new string('x', size));

        Assert.True(CompressionProbe.Shrinks(text));
        Assert.True(CompressionProbe.Shrinks(
            Encoding.ASCII.GetBytes(Convert.ToBase64String(RandomNumberGenerator.GetBytes(size)))));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(100)]
    [InlineData(4096)]
    [InlineData(1_000_000)]
    public static void Random_bytes_do_not(int size) =>
        Assert.False(CompressionProbe.Shrinks(RandomNumberGenerator.GetBytes(size)));

    [Fact]
    public static void Only_the_first_block_counts()
    {
        byte[] body = new byte[1_000_000];
        RandomNumberGenerator.Fill(body.AsSpan(0, 8192));

        Assert.False(CompressionProbe.Shrinks(body));
    }
}
