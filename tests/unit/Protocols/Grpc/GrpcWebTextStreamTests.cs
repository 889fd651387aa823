using System.Text;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Tests.Protocols.Grpc;

/// <summary>Bodies of replies of gRPC-Web in base64, in pieces of every size.</summary>
public static class GrpcWebTextStreamTests
{
    [Theory]
    [InlineData("", "")]
    [InlineData("AAEC", "000102")]
    [InlineData("AA==", "00")]
    [InlineData("AAE=AAEC", "0001000102")]
    [InlineData("AA==AA==AAECAw==", "000000010203")]
    public static async Task Pieces_with_padding_of_their_own_are_read(string text, string bytes)
    {
        for (int size = 1; size <= text.Length + 1; size++)
        {
            Assert.Equal(bytes, Convert.ToHexString(await ReadAsync(text, size)));
        }
    }

    [Theory]
    [InlineData("A")]
    [InlineData("AAECA")]
    [InlineData("AA=A")]
    [InlineData("====")]
    [InlineData("AA*C")]
    [InlineData("AAEC\r\n\r\n")]
    [InlineData("AA EC   ")]
    [InlineData("\t\t\t\tAAEC")]
    public static async Task Other_text_is_refused_however_it_arrives(string text)
    {
        for (int size = 1; size <= text.Length; size++)
        {
            RpcException error = await Assert.ThrowsAsync<RpcException>(() => ReadAsync(text, size));
            Assert.Equal(RpcStatusCode.Internal, error.Code);
        }
    }

    private static async Task<byte[]> ReadAsync(string text, int size)
    {
        await using GrpcWebTextStream stream = new(new PiecesStream(Encoding.ASCII.GetBytes(text), size));
        using MemoryStream bytes = new();
        await stream.CopyToAsync(bytes, TestContext.Current.CancellationToken);
        return bytes.ToArray();
    }

    // Gives no more bytes at once than a piece has.
    private sealed class PiecesStream(byte[] bytes, int size) : MemoryStream(bytes)
    {
        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            base.ReadAsync(buffer[..Math.Min(buffer.Length, size)], cancellationToken);
    }
}
