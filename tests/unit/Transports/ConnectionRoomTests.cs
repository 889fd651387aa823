using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports;

/// <summary>Idle connections are closed when a listener is full.</summary>
public static class ConnectionRoomTests
{
    private static readonly NetworkCredential Bob = new("bob", "Pa55word");

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task Bound_and_idle_connections_make_room_the_longest_idle_first(bool blocking)
    {
        RpcLimits limits = new() { MaxConnections = 3, MaxBlockingConnections = blocking ? 64 : 0 };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using RawPeer oldest = RawPeer.Bound(server);

        // The clock of the listener has a resolution.
        await Task.Delay(100);
        using RawPeer older = RawPeer.Bound(server);
        await Task.Delay(100);
        using RawPeer old = RawPeer.Bound(server);

        using NativeConnectionPool first = await ConnectAsync(server);
        Assert.Equal("1"u8.ToArray(), first.Call("1"u8));
        byte[] farewell = oldest.ReadToEnd();
        using NativeConnectionPool second = await ConnectAsync(server);

        Assert.Equal("2"u8.ToArray(), second.Call("2"u8));
        Assert.Equal(PduType.Shutdown, PduHeader.Read(farewell).Type);
        Assert.NotEmpty(older.ReadToEnd());
        Assert.InRange(server.Listener.ConnectionCount, 1, 3);
    }

    [Fact]
    public static async Task Silent_connections_make_room_long_before_the_time_to_bind_is_up()
    {
        RpcLimits limits = new() { MaxConnections = 2, BindTimeout = TimeSpan.FromMinutes(10) };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using RawPeer silent = new(server.Endpoint);
        using RawPeer half = new(server.Endpoint);
        half.Send([5, 0, 11]);

        using NativeConnectionPool good = await ConnectAsync(server);

        Assert.Equal("good"u8.ToArray(), good.Call("good"u8));
        Assert.InRange(server.Listener.ConnectionCount, 1, 2);
    }

    [Fact]
    public static async Task A_connection_with_a_call_is_never_given_up()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(
            handler.Handle, new RpcLimits { MaxConnections = 2 }, NativeEndpoints.Fresh("tcp"));
        using NativeConnectionPool busy = server.Connect();
        Task<byte[]> call = Task.Run(() => busy.Call("busy"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the call runs");
        using RawPeer idle = RawPeer.Bound(server);

        using NativeConnectionPool next = await ConnectAsync(server);
        Task<byte[]> other = Task.Run(() => next.Call("next"u8));
        await Eventually.TrueAsync(() => handler.Running == 2, "the other call runs");
        handler.Release(2);

        Assert.Equal("busy"u8.ToArray(), await call);
        Assert.Equal("next"u8.ToArray(), await other);
        Assert.Equal(0, handler.Cancelled);
    }

    [Fact]
    public static async Task A_caller_who_proved_who_he_is_stays()
    {
        Guid id = Guid.NewGuid();
        ExecInterface service = new(id, TestServer.Echo)
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm | RpcAuthentication.None,
                NtlmAccounts = [NtlmAccount.From(Bob)],
            },
        };
        NativeListener listener = NativeListener.Serve(
            NativeEndpoints.Fresh("tcp"), service, new RpcLimits { MaxConnections = 2 });
        try
        {
            RpcClientSecurity asBob = new()
            {
                Authentication = RpcClientAuthentication.User,
                Credential = Bob,
            };
            using NativeConnectionPool known =
                NativeConnectionPool.Connect(listener.Endpoint, id, RpcLimits.Default, asBob);
            known.Call("1"u8);
            using NativeConnectionPool anonymous =
                NativeConnectionPool.Connect(listener.Endpoint, id, RpcLimits.Default);
            anonymous.Call("2"u8);
            long accepted = listener.AcceptedCount;

            using NativeConnectionPool next = await ConnectAsync(
                () => NativeConnectionPool.Connect(listener.Endpoint, id, RpcLimits.Default));
            next.Call("3"u8);
            accepted = listener.AcceptedCount;
            known.Call("4"u8);

            Assert.Equal(accepted, listener.AcceptedCount);
        }
        finally
        {
            await listener.DisposeAsync();
        }
    }

    [Fact]
    public static async Task An_address_has_no_more_connections_than_its_quota()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(
            handler.Handle, new RpcLimits { MaxConnectionsPerAddress = 1 }, NativeEndpoints.Fresh("tcp"));
        using NativeConnectionPool busy = server.Connect();
        Task<byte[]> call = Task.Run(() => busy.Call("busy"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the call runs");

        RpcException error = Assert.Throws<RpcException>(() => server.Connect());
        handler.Release();
        await call;
        using NativeConnectionPool next = await ConnectAsync(server);

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("MaxConnectionsPerAddress", error.Message, StringComparison.Ordinal);
        Assert.Equal(1, server.Listener.ConnectionCount);
    }

    [Theory]
    [InlineData("192.0.2.1", "192.0.2.1", true)]
    [InlineData("192.0.2.1", "192.0.2.2", false)]
    [InlineData("192.0.2.1", "::ffff:192.0.2.1", true)]
    [InlineData("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true)]
    [InlineData("2001:db8:0:1::1", "2001:db8:0:2::1", false)]
    [InlineData("::1", "::2", false)]
    public static void Addresses_of_one_machine_count_as_one(string one, string other, bool isSame)
    {
        AddressQuota quota = new(1);

        bool first = quota.TryEnter(KeyOf(one));
        bool second = quota.TryEnter(KeyOf(other));
        quota.Leave(KeyOf(one));

        Assert.True(first);
        Assert.Equal(!isSame, second);
        Assert.True(quota.TryEnter(KeyOf(one)));
        Assert.True(quota.TryEnter(AddressQuota.KeyOf(new UnixDomainSocketEndPoint("/x"))));
    }

    private static IPAddress? KeyOf(string address) =>
        AddressQuota.KeyOf(new IPEndPoint(IPAddress.Parse(address), 1));

    private static Task<NativeConnectionPool> ConnectAsync(TestServer server) =>
        ConnectAsync(() => server.Connect());

    // A connection can be spared after a second, so the first tries may be refused.
    private static async Task<NativeConnectionPool> ConnectAsync(Func<NativeConnectionPool> connect)
    {
        NativeConnectionPool? client = null;
        await Eventually.TrueAsync(
            () =>
            {
                try
                {
                    client = connect();
                    return true;
                }
                catch (RpcException e) when (e.Code == RpcStatusCode.ResourceExhausted)
                {
                    return false;
                }
            },
            "there is room");
        return client!;
    }
}
