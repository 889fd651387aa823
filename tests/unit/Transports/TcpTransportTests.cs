using System.Net;
using System.Net.Sockets;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tests.Transports;

/// <summary>Hosts with several addresses, of which some never answer.</summary>
public static class TcpTransportTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [LinuxFact]
    public static void An_address_that_never_answers_leaves_time_for_the_next()
    {
        (SilentAddress silent, Socket served) = ListenAtOnePort();
        using SilentAddress first = silent;
        using Socket second = served;

        using Socket connection = TcpTransport.Dial(
            [first.Address, IPAddress.Loopback], first.Port,
            CallClock.Start(TimeSpan.FromSeconds(2)));

        using Socket accepted = second.Accept();
        connection.Send(new byte[] { 7 });
        byte[] told = new byte[1];
        accepted.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        Assert.Equal(1, accepted.Receive(told));
        Assert.Equal([7], told);
    }

    [LinuxFact]
    public static void When_none_answers_connecting_is_given_up_in_its_time()
    {
        using SilentAddress silent = new();
        long begin = Environment.TickCount64;

        Assert.Throws<OperationCanceledException>(() => TcpTransport.Dial(
            [silent.Address, silent.Address, silent.Address], silent.Port,
            CallClock.Start(TimeSpan.FromMilliseconds(600))));

        Assert.InRange(Environment.TickCount64 - begin, 550, (long)Patience.TotalMilliseconds);
    }

    [Fact]
    public static void The_error_of_the_last_address_is_told()
    {
        using ClosedPort closed = new();

        SocketException error = Assert.Throws<SocketException>(() => TcpTransport.Dial(
            [IPAddress.Loopback, IPAddress.Loopback], closed.Number, CallClock.Start(Patience)));

        Assert.Equal(SocketError.ConnectionRefused, error.SocketErrorCode);
    }

    [Fact]
    public static void Looking_up_a_name_counts_toward_the_time()
    {
        using ManualResetEventSlim answer = new();

        RpcException error = Assert.Throws<RpcException>(() => SlowlyNamed(answer).Connect(
            RpcEndpoint.Tcp("slow.example", 9), null, TimeSpan.FromMilliseconds(200), default));

        answer.Set();
        Assert.Equal(
            (RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout), (error.Code, error.ErrorId));
        Assert.Contains("DNS did not resolve the host name 'slow.example' within 0.2 s", error.Message);
    }

    [Fact]
    public static async Task Looking_up_the_name_of_a_grpc_server_or_its_proxy_counts_too()
    {
        using ManualResetEventSlim answer = new();
        WebProxy[] routes = [new(), new("http://slow.proxy:3128")];
        List<RpcException> errors = [];
        foreach (WebProxy route in routes)
        {
            errors.Add(await Assert.ThrowsAsync<RpcException>(() => GrpcDialer.DialAsync(
                RpcEndpoint.Parse("grpc://slow.example:9"), new RpcTlsOptions(), route,
                TimeSpan.FromMilliseconds(200), _ => { }, new ServerGreetings(),
                CancellationToken.None,
                _ =>
                {
                    answer.Wait(Patience);
                    return [];
                })));
        }

        answer.Set();
        Assert.All(errors, error => Assert.Equal(RpcErrorIds.ConnectTimeout, error.ErrorId));
        Assert.Contains("DNS did not resolve the host name 'slow.example' within 0.2 s", errors[0].Message);
        Assert.Contains("DNS did not resolve the proxy 'http://slow.proxy:3128'", errors[1].Message);
    }

    [Theory]
    [InlineData("tcp", false)]
    [InlineData("tcp", true)]
    [InlineData("grpc", false)]
    [InlineData("grpc", true)]
    public static void A_name_longer_than_any_host_has_is_unknown(string scheme, bool isBalanced)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse($"{scheme}://{string.Join('.', new string('a', 300).Chunk(50)
            .Select(label => new string(label)))}:9");
        RpcClientOptions options = new() { Service = "calls.Echo" };

        RpcException error = Assert.Throws<RpcException>(() => isBalanced
            ? RpcClient.Connect([endpoint], RpcLoadBalancing.RoundRobin, EchoServer.Schema, options)
            : RpcClient.Connect(endpoint, EchoServer.Schema, options));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("the host name is unknown", error.Message);
    }

    [Fact]
    public static void Looking_up_a_name_ends_when_it_is_cancelled()
    {
        using ManualResetEventSlim answer = new();
        using CancellationTokenSource cancel = new(TimeSpan.FromMilliseconds(200));

        RpcException error = Assert.Throws<RpcException>(() => SlowlyNamed(answer).Connect(
            RpcEndpoint.Tcp("slow.example", 9), null, Timeout.InfiniteTimeSpan, cancel.Token));

        answer.Set();
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    [Fact]
    public static void A_name_that_is_unknown_is_reported_as_such()
    {
        TcpTransport transport = new(_ => throw new SocketException((int)SocketError.HostNotFound));

        RpcException error = Assert.Throws<RpcException>(() => transport.Connect(
            RpcEndpoint.Tcp("unknown.example", 9), null, Patience, default));

        Assert.Contains("the host name is unknown", error.Message, StringComparison.Ordinal);
    }

    private static TcpTransport SlowlyNamed(ManualResetEventSlim answer) => new(_ =>
        answer.Wait(Patience)
            ? Array.Empty<IPAddress>()
            : throw new SocketException((int)SocketError.TryAgain));

    // The port that one address has free may be taken at the other.
    private static (SilentAddress Silent, Socket Served) ListenAtOnePort()
    {
        while (true)
        {
            SilentAddress silent = new();
            try
            {
                return (silent, Listen(IPAddress.Loopback, silent.Port));
            }
            catch (SocketException e) when (e.SocketErrorCode == SocketError.AddressAlreadyInUse)
            {
                silent.Dispose();
            }
        }
    }

    private static Socket Listen(IPAddress address, int port, int backlog = 8)
    {
        Socket socket = new(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(address, port));
        socket.Listen(backlog);
        return socket;
    }

    /// <summary>An address at which the system drops connections, because too many wait to be
    /// accepted.</summary>
    private sealed class SilentAddress : IDisposable
    {
        private readonly Socket _listening;
        private readonly Socket[] _waiting;

        public SilentAddress()
        {
            _listening = Listen(Address, 0, backlog: 0);
            _waiting = [.. Enumerable.Range(0, 8).Select(_ => Knock())];
        }

        public IPAddress Address { get; } = IPAddress.Parse("127.0.0.2");

        public int Port => ((IPEndPoint)_listening.LocalEndPoint!).Port;

        public void Dispose()
        {
            Array.ForEach(_waiting, socket => socket.Dispose());
            _listening.Dispose();
        }

        private Socket Knock()
        {
            Socket socket = new(Address.AddressFamily, SocketType.Stream, ProtocolType.Tcp)
            {
                Blocking = false,
            };
            SocketException pending = Assert.Throws<SocketException>(
                () => socket.Connect(new IPEndPoint(Address, Port)));
            Assert.Equal(SocketError.WouldBlock, pending.SocketErrorCode);
            return socket;
        }
    }
}
