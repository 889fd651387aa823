using System.IO.Pipelines;
using System.Text;
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
        using GreetingCheckStream stream = Greeted(said, why => refusal = why);

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

    // The HTTP client's first read takes 16 bytes.
    [Theory]
    [InlineData(16, new[] { 17 })]
    [InlineData(9, new[] { 9, 8 })]
    [InlineData(1, new[] { 1, 2, 1, 13 })]
    public static async Task A_GOAWAY_is_judged_whole_however_it_is_read_and_sent(int size, int[] pieces)
    {
        Pipe said = new();
        RpcException? refusal = null;
        using GreetingCheckStream stream = Greeted(said, why => refusal = why);

        Task<int> read = stream.ReadAsync(new byte[size]).AsTask();
        await SayAsync(said, Http11Required, pieces);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => read.WaitAsync(Patience));
        Assert.Same(refusal, error);
        Assert.Contains("Use http://127.0.0.1:5/", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(1, new[] { 1, 8, 15 })]
    [InlineData(9, new[] { 24 })]
    [InlineData(64, new[] { 3, 21 })]
    public static async Task Nothing_of_a_server_as_expected_is_lost(int size, int[] pieces)
    {
        // An empty SETTINGS frame, and a part of the next one.
        byte[] bytes = [0, 0, 0, 4, 0, 0, 0, 0, 0, .. Enumerable.Range(1, 15).Select(i => (byte)i)];
        Pipe said = new();
        using GreetingCheckStream stream = Greeted(said, _ => { });
        byte[] heard = new byte[bytes.Length];

        Task saying = SayAsync(said, bytes, pieces);
        for (int count = 0; count < heard.Length;)
        {
            int most = Math.Min(size, heard.Length - count);
            int read = await stream.ReadAsync(heard.AsMemory(count, most)).AsTask().WaitAsync(Patience);
            Assert.InRange(read, 1, most);
            count += read;
        }

        await saying;
        Assert.Equal(bytes, heard);
        Assert.Equal(0, await stream.ReadAsync(new byte[4]).AsTask().WaitAsync(Patience));
    }

    [Fact]
    public static async Task A_first_line_of_HTTP_1_is_named_although_it_comes_in_pieces()
    {
        Pipe said = new();
        using GreetingCheckStream stream = Greeted(said, _ => { });

        Task<int> read = stream.ReadAsync(new byte[9]).AsTask();
        await SayAsync(said, Encoding.ASCII.GetBytes("HTTP/1.1 400 Bad\r\n"), [1, 7, 8, 2]);

        Assert.Contains(
            "'HTTP/1.1 400 Bad'",
            (await Assert.ThrowsAsync<RpcException>(() => read.WaitAsync(Patience))).Message,
            StringComparison.Ordinal);
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

    private static GreetingCheckStream Greeted(Pipe said, Action<RpcException> refused) => new(
        new DeafPeer(said.Reader.AsStream()), RpcEndpoint.Parse("grpc://127.0.0.1:5"), PeerGreeting.Http2,
        Patience, refused, greetings: null, isDirect: false);

    private static async Task SayAsync(Pipe said, ReadOnlyMemory<byte> bytes, int[] pieces)
    {
        foreach (int piece in pieces)
        {
            await said.Writer.WriteAsync(bytes[..piece]);
            bytes = bytes[piece..];
            await Task.Yield();
        }

        await said.Writer.CompleteAsync();
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
