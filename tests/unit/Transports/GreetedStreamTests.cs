using System.IO.Pipelines;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tests.Transports;

/// <summary>Servers of another protocol, which say so and close while the client still writes.</summary>
public static class GreetedStreamTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    // A GOAWAY frame with HTTP_1_1_REQUIRED (RFC 9113, sections 6.8 and 7).
    private static readonly byte[] Http11Required = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13];

    [Fact]
    public static async Task What_the_server_said_is_heard_before_a_write_fails()
    {
        Pipe said = new();
        RpcException? refusal = null;
        using GreetedStream stream = new(
            new DeafPeer(said.Reader.AsStream()), RpcEndpoint.Parse("grpc://127.0.0.1:5"), PeerGreeting.Http2,
            Patience, why => refusal = why, isDirect: false);

        Task<int> read = stream.ReadAsync(new byte[64]).AsTask();
        Task write = stream.WriteAsync(new byte[8]).AsTask();
        Assert.False(write.IsCompleted);
        await said.Writer.WriteAsync(Http11Required);

        await Assert.ThrowsAsync<IOException>(() => write.WaitAsync(Patience));
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => read.WaitAsync(Patience));
        Assert.Same(refusal, error);
        Assert.Equal("WrongProtocol", error.ErrorId);
        Assert.Contains("Use http://127.0.0.1:5/", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(16, 13, PeerGreeting.Http2)]
    [InlineData(17, 13, PeerGreeting.Http1Required)]
    [InlineData(17, 0, PeerGreeting.Http2)]
    public static void Only_a_whole_GOAWAY_with_its_code_asks_for_HTTP_1(
        int length, byte code, object expected)
    {
        byte[] bytes = [.. Http11Required];
        bytes[^1] = code;

        Assert.Equal(expected, PeerGreetings.Judge(bytes.AsSpan(0, length)));
    }

    /// <summary>A connection whose peer has closed its end: writes fail.</summary>
    private sealed class DeafPeer(Stream said) : SequentialStream
    {
        public override bool CanRead => true;

        public override bool CanWrite => true;

        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            said.ReadAsync(buffer, cancellationToken);

        public override int Read(byte[] buffer, int offset, int count) => said.Read(buffer, offset, count);

        public override ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
            ValueTask.FromException(new IOException("The peer closed the connection."));

        public override void Write(byte[] buffer, int offset, int count) =>
            throw new IOException("The peer closed the connection.");
    }
}
