using System.Buffers;
using System.Text;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;

namespace ProtoRpc.Tests.Client.Http;

public static class HttpBodyTests
{
    [Fact]
    public static async Task A_request_that_is_still_sent_keeps_the_memory_after_its_call_ended()
    {
        HttpBody body = BodyOf("hello");
        HttpMessageContent content = new(body, "text/plain");
        body.Dispose();
        TaskCompletionSource goesOn = new(TaskCreationOptions.RunContinuationsAsynchronously);
        SlowStream slow = new(goesOn.Task);
        Task sending = content.CopyToAsync(slow);

        content.Dispose();
        using HttpBody other = BodyOf("other");
        goesOn.SetResult();
        await sending;

        Assert.Equal("hello", Encoding.UTF8.GetString(slow.ToArray()));
        Assert.Throws<ObjectDisposedException>(body.Hold);
    }

    [Fact]
    public static async Task A_content_can_be_sent_again_until_it_is_disposed_of()
    {
        HttpBody body = BodyOf("hello");
        HttpMessageContent content = new(body, "text/plain");
        body.Dispose();

        Assert.False(content.IsSent);
        Assert.Equal("hello", await Read());
        Assert.True(content.IsSent);
        Assert.Equal("hello", await Read());
        content.Dispose();
        content.Dispose();

        Assert.Throws<ObjectDisposedException>(body.Hold);
        await Assert.ThrowsAsync<ObjectDisposedException>(Read);

        async Task<string> Read()
        {
            using MemoryStream stream = new();
            await content.CopyToAsync(stream);
            return Encoding.UTF8.GetString(stream.ToArray());
        }
    }

    [Theory]
    [InlineData(RpcCompression.None, null)]
    [InlineData(RpcCompression.Gzip, "gzip")]
    [InlineData(RpcCompression.Brotli, "br")]
    public static void A_compressed_body_names_its_encoding_and_its_plain_length(
        RpcCompression compression, string? encoding)
    {
        using HttpBody body = BodyOf(new string('x', 5000), compression);
        using HttpMessageContent content = new(body, "text/plain");

        Assert.Equal(encoding, content.Headers.ContentEncoding.SingleOrDefault());
        Assert.Equal(5000, body.PlainLength);
        Assert.Equal(body.Bytes.Length, content.Headers.ContentLength);
        Assert.Equal(encoding is null, body.Bytes.Length == 5000);
    }

    private static HttpBody BodyOf(string text, RpcCompression compression = RpcCompression.None)
    {
        PooledMessageBytes bytes = new(int.MaxValue, "request");
        bytes.Write(Encoding.UTF8.GetBytes(text));
        return new HttpBody(bytes, compression);
    }

    // Takes what is written only when it may.
    private sealed class SlowStream(Task goesOn) : MemoryStream
    {
        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            await goesOn;
            await base.WriteAsync(buffer, cancellationToken);
        }
    }
}
