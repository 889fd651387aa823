using System.Net;
using System.Net.Sockets;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tests.Transports;

/// <summary>Connections of HTTP on which callers block, and that the HTTP client watches while they
/// rest.</summary>
public sealed class BlockingSocketStreamTests : IDisposable
{
    // Of open(2) on Linux, as /proc shows it.
    private const int NonBlocking = 0x800;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly Socket _peer;
    private readonly BlockingSocketStream _stream;

    public BlockingSocketStreamTests()
    {
        using Socket listening = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listening.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listening.Listen(1);
        _socket.Connect(listening.LocalEndPoint!);
        _peer = listening.Accept();
        _peer.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        _stream = new BlockingSocketStream(_socket);
    }

    private bool IsNonBlocking => File.ReadLines($"/proc/self/fdinfo/{_socket.Handle}")
        .Where(line => line.StartsWith("flags:", StringComparison.Ordinal))
        .Select(line => Convert.ToInt32(line["flags:".Length..].Trim(), 8))
        .Single() is var flags && (flags & NonBlocking) != 0;

    public void Dispose()
    {
        _stream.Dispose();
        _peer.Dispose();
    }

    [LinuxFact]
    public async Task A_watched_rest_between_blocking_calls_leaves_the_socket_blocking()
    {
        byte[] buffer = new byte[8];
        for (byte call = 1; call <= 3; call++)
        {
            Task<int> rest = Call(call, buffer);
            Assert.False(rest.IsCompleted);
            _peer.Send([call]);

            Assert.Equal(0, await rest.WaitAsync(Patience));
            Assert.Equal(1, await _stream.ReadAsync(buffer, default).AsTask().WaitAsync(Patience));
            Assert.Equal(call, buffer[0]);
        }

        Assert.False(IsNonBlocking);
    }

    [LinuxFact]
    public async Task An_asynchronous_call_waits_without_a_thread()
    {
        byte[] buffer = new byte[8];
        await _stream.WriteAsync(new byte[] { 1 }, default);

        Task<int> read = _stream.ReadAsync(buffer, default).AsTask();

        Assert.True(IsNonBlocking);
        _peer.Send([2, 3]);
        Assert.Equal(2, await read.WaitAsync(Patience));
        Assert.Equal([2, 3], buffer[..2]);
    }

    [Fact]
    public async Task A_blocking_call_behind_an_asynchronous_one_gets_its_reply()
    {
        byte[] buffer = new byte[8];
        await _stream.WriteAsync(new byte[] { 1 }, default);
        Receive(1);
        Task<int> read = _stream.ReadAsync(buffer, default).AsTask();
        _peer.Send([2]);
        await read.WaitAsync(Patience);

        Task<int> rest = Call(3, buffer);
        _peer.Send([4]);

        await rest.WaitAsync(Patience);
        Assert.Equal(1, _stream.Read(buffer));
        Assert.Equal(4, buffer[0]);
    }

    [Fact]
    public async Task A_watched_rest_ends_when_the_server_closes()
    {
        byte[] buffer = new byte[8];
        Task<int> rest = Call(1, buffer);

        _peer.Dispose();

        Assert.Equal(0, await rest.WaitAsync(Patience));
        Assert.Equal(0, await _stream.ReadAsync(buffer, default).AsTask().WaitAsync(Patience));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(8)]
    public async Task A_watched_rest_ends_with_the_connection(int size)
    {
        _stream.Write([1]);
        Task<int> rest = _stream.ReadAsync(new byte[size], default).AsTask();

        await Task.Run(_stream.Dispose).WaitAsync(Patience);

        Exception? error = await Record.ExceptionAsync(() => rest.WaitAsync(Patience));
        Assert.True(error is null or IOException or ObjectDisposedException or SocketException, $"{error}");
    }

    // Without the timeout, only a read between the two steps in which .NET makes a socket non-blocking fails.
    [LinuxFact]
    public async Task A_read_on_a_thread_begins_when_there_are_bytes()
    {
        byte[] buffer = new byte[8];
        _stream.Write([1]);
        Receive(1);
        _socket.ReceiveTimeout = 1;

        Task<int> read = _stream.ReadAsync(buffer, default).AsTask();

        Assert.NotSame(read, await Task.WhenAny(read, Task.Delay(TimeSpan.FromMilliseconds(100))));
        _peer.Send([2]);
        Assert.Equal(1, await read.WaitAsync(Patience));
        Assert.Equal(2, buffer[0]);
    }

    // A request that arrives, and the read that the HTTP client begins behind its reply.
    private Task<int> Call(byte request, byte[] buffer)
    {
        _stream.Write([request]);
        Receive(request);
        return _stream.ReadAsync(buffer.AsMemory(0, 0), default).AsTask();
    }

    private void Receive(byte expected)
    {
        byte[] received = new byte[1];
        Assert.Equal(1, _peer.Receive(received));
        Assert.Equal(expected, received[0]);
    }
}
