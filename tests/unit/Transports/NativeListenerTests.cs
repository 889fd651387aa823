using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports;

public static class NativeListenerTests
{
    public static TheoryData<string> Kinds => NativeEndpoints.Kinds;

    [Fact]
    public static async Task Port_zero_becomes_a_free_port()
    {
        await using TestServer server = TestServer.Echoing("tcp");

        Assert.NotEqual(0, server.Endpoint.Port);
        Assert.Equal("127.0.0.1", server.Endpoint.Host);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Interfaces_share_an_endpoint_until_the_last_leaves(string kind)
    {
        await using TestServer one = new(TestServer.Echo, endpoint: NativeEndpoints.Fresh(kind));
        await using TestServer two = new(
            call =>
            {
                call.Reply.GetSpan(1)[0] = 2;
                call.Reply.Advance(1);
                return ValueTask.CompletedTask;
            },
            endpoint: one.Endpoint);
        Assert.Same(one.Listener, two.Listener);
        using NativeConnectionPool first = one.Connect();
        using NativeConnectionPool second = two.Connect();

        Assert.Equal("1"u8.ToArray(), first.Call("1"u8));
        Assert.Equal([2], second.Call("1"u8));
        await one.DisposeAsync();

        RpcException refused = Assert.Throws<RpcException>(() => first.Call("1"u8));
        Assert.Equal((RpcStatusCode.Unimplemented, 0x1C010003u, false),
            (refused.Code, refused.NativeStatus, refused.MayHaveExecuted));
        Assert.Equal([2], second.Call("1"u8));
        await two.DisposeAsync();
        Assert.Equal(RpcStatusCode.Unavailable, Assert.Throws<RpcException>(() => second.Call("1"u8)).Code);
    }

    [Fact]
    public static async Task An_interface_is_served_once_on_an_endpoint()
    {
        await using TestServer server = TestServer.Echoing("local");

        RpcException error = Assert.Throws<RpcException>(() => NativeListener.Serve(
            server.Endpoint, new ExecInterface(server.InterfaceId, TestServer.Echo), RpcLimits.Default));

        Assert.Equal((RpcStatusCode.AlreadyExists, "InterfaceInUse"), (error.Code, error.ErrorId));
    }

    [Fact]
    public static void A_port_in_use_is_named()
    {
        using Socket other = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        other.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        other.Listen();
        RpcEndpoint endpoint = RpcEndpoint.Tcp("127.0.0.1", ((IPEndPoint)other.LocalEndPoint!).Port);

        RpcException error = Assert.Throws<RpcException>(() => NativeListener.Serve(
            endpoint, new ExecInterface(Guid.NewGuid(), TestServer.Echo), RpcLimits.Default));

        Assert.Equal((RpcStatusCode.AlreadyExists, "EndpointInUse"), (error.Code, error.ErrorId));
        Assert.Equal(endpoint, error.Endpoint);
        Assert.Contains(endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("192.0.2.1")]
    [InlineData("no-such-host.invalid")]
    public static void An_address_that_is_not_here_is_named(string host)
    {
        RpcException error = Assert.Throws<RpcException>(() => NativeListener.Serve(
            RpcEndpoint.Tcp(host, 0), new ExecInterface(Guid.NewGuid(), TestServer.Echo), RpcLimits.Default));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains(host, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("localhost")]
    [InlineData("::1")]
    public static async Task Names_and_ipv6_addresses_are_listened_on(string host)
    {
        if (host == "::1" && !HasIPv6Loopback())
        {
            return;
        }

        await using TestServer server = new(TestServer.Echo, endpoint: RpcEndpoint.Tcp(host, 0));
        using NativeConnectionPool client = server.Connect();

        Assert.Equal("hi"u8.ToArray(), client.Call("hi"u8));
    }

    [Theory]
    [InlineData(1431)]
    [InlineData(65536)]
    public static void A_limit_that_the_protocol_does_not_have_is_refused(int fragment)
    {
        RpcException error = Assert.Throws<RpcException>(() => NativeListener.Serve(
            NativeEndpoints.Fresh("tcp"), new ExecInterface(Guid.NewGuid(), TestServer.Echo),
            new RpcLimits { MaxFragmentBytes = fragment }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains(nameof(RpcLimits.MaxFragmentBytes), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_running_call_ends_within_the_drain_time_and_a_new_one_is_refused()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle);
        using NativeConnectionPool client = server.Connect();
        using NativeConnectionPool other = server.Connect();
        Task<byte[]> running = Task.Run(() => client.Call("drained"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the call runs");

        ValueTask stopping = server.DisposeAsync();

        RpcException refused = Assert.Throws<RpcException>(() => other.Call("late"u8));
        Assert.Equal((0x1C010003u, false), (refused.NativeStatus, refused.MayHaveExecuted));
        handler.Release();
        Assert.Equal("drained"u8.ToArray(), await running);
        await stopping;
        Assert.Equal(0, server.Listener.ConnectionCount);
    }

    [Fact]
    public static async Task A_call_that_outlives_the_drain_time_is_cancelled()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle);
        using NativeConnectionPool client = server.Connect();
        Task<byte[]> running = Task.Run(() => client.Call("never"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the call runs");

        await server.Listener.StopServingAsync(server.InterfaceId, TimeSpan.FromMilliseconds(100));

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => running);
        Assert.Equal((RpcStatusCode.Cancelled, FaultStatus.Cancelled), (error.Code, error.NativeStatus));
        Assert.Equal(1, handler.Cancelled);
    }

    [Fact]
    public static async Task Disposing_closes_at_once()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle);
        using NativeConnectionPool client = server.Connect();
        Task<byte[]> running = Task.Run(() => client.Call("never"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the call runs");

        await server.Listener.DisposeAsync();

        Assert.Contains(
            (await Assert.ThrowsAsync<RpcException>(() => running)).Code,
            new[] { RpcStatusCode.Unavailable, RpcStatusCode.Cancelled });
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task An_endpoint_is_free_again_at_once(string kind)
    {
        RpcEndpoint endpoint = NativeEndpoints.Fresh(kind);
        for (int i = 0; i < 3; i++)
        {
            await using TestServer server = new(TestServer.Echo, endpoint: endpoint);
            endpoint = server.Endpoint;
            using NativeConnectionPool client = server.Connect();
            Assert.Equal("x"u8.ToArray(), client.Call("x"u8));
        }
    }

    [Fact]
    public static async Task Starting_and_stopping_leaves_nothing_behind()
    {
        if (!OperatingSystem.IsLinux())
        {
            return;
        }

        await CycleAsync(5);
        int files = OpenSockets();
        await CycleAsync(40);

        // Other tests open sockets at the same time; a leak would be at least one for each cycle.
        await Eventually.TrueAsync(() => OpenSockets() < files + 40, "the sockets are closed");

        static int OpenSockets() => Directory.EnumerateFiles("/proc/self/fd")
            .Count(f => new FileInfo(f).LinkTarget?.StartsWith("socket:", StringComparison.Ordinal) == true);
    }

    [Theory]
    [InlineData(64)]
    [InlineData(3)]
    public static async Task Many_callers_at_once_get_their_own_replies(int maxBlocking)
    {
        RpcLimits limits = new() { MaxBlockingConnections = maxBlocking };
        await using TestServer server = TestServer.Echoing("local", limits);
        using NativeConnectionPool client = server.Connect();

        await Task.WhenAll(Enumerable.Range(0, 24).Select(i => Task.Factory.StartNew(
            () =>
            {
                for (int k = 0; k < 100; k++)
                {
                    byte[] request = ClientCalls.Bytes((i * 1000) + k);
                    Assert.Equal(request, client.Call(request));
                }
            },
            TaskCreationOptions.LongRunning)));

        Assert.InRange(client.ConnectionCount, 1, 24);
        Assert.Equal(client.ConnectionCount, server.Listener.ConnectionCount);
        Assert.Equal(client.ConnectionCount, server.Listener.AcceptedCount);
    }

    private static async Task CycleAsync(int count)
    {
        for (int i = 0; i < count; i++)
        {
            foreach (string kind in new[] { "tcp", "local", "pipe" })
            {
                await using TestServer server = TestServer.Echoing(kind);
                using NativeConnectionPool client = server.Connect();
                client.Call("x"u8);
                await client.CallAsync([1]);
            }
        }
    }

    private static bool HasIPv6Loopback()
    {
        try
        {
            using Socket probe = new(AddressFamily.InterNetworkV6, SocketType.Stream, ProtocolType.Tcp);
            probe.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
