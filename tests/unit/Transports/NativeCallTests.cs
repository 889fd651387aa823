using System.Buffers;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports;

public static class NativeCallTests
{
    public static TheoryData<string> Kinds => NativeEndpoints.Kinds;

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Bytes_come_back_on_every_transport(string kind)
    {
        await using TestServer server = TestServer.Echoing(kind);
        using NativeConnectionPool client = server.Connect();

        foreach (int length in new[] { 0, 1, 3, 4, 5, 100, 5000, 5808, 5809, 70_000, 3_000_000 })
        {
            byte[] request = ClientCalls.Bytes(length);
            Assert.Equal(request, client.Call(request));
        }

        Assert.Equal(1, client.ConnectionCount);
        Assert.Equal(1, server.Listener.ConnectionCount);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Asynchronous_calls_use_connections_of_their_own(string kind)
    {
        await using TestServer server = TestServer.Echoing(kind);
        using NativeConnectionPool client = server.Connect();
        byte[] request = ClientCalls.Bytes(2_000_000);

        Assert.Equal(request, await client.CallAsync(request));
        Assert.Equal(request, client.Call(request));

        Assert.Equal(2, client.ConnectionCount);
    }

    [Fact]
    public static async Task A_return_code_comes_without_bytes()
    {
        await using TestServer server = new(call =>
        {
            call.Reply.Write("lost"u8);
            call.ReturnCode = 1715;
            return ValueTask.CompletedTask;
        });
        using NativeConnectionPool client = server.Connect();
        using NativeClientCall exchange = client.Begin();

        int code = exchange.Execute(ClientCalls.Patience);

        Assert.Equal(1715, code);
        Assert.True(exchange.Reply.IsEmpty);
    }

    [Fact]
    public static async Task A_handler_that_throws_is_answered_as_the_original_does()
    {
        await using TestServer server = new(_ => throw new InvalidOperationException("no"));
        using NativeConnectionPool client = server.Connect();
        using NativeClientCall exchange = client.Begin();

        Assert.Equal(unchecked((int)0x80004005), exchange.Execute(ClientCalls.Patience));
    }

    [Fact]
    public static async Task A_handler_may_end_later()
    {
        await using TestServer server = new(async call =>
        {
            await Task.Yield();
            await TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();

        Assert.Equal("later"u8.ToArray(), client.Call("later"u8));
    }

    [Fact]
    public static async Task An_interface_that_is_not_served_shows_when_connecting()
    {
        await using TestServer server = TestServer.Echoing("tcp");

        RpcException error = Assert.Throws<RpcException>(
            () => NativeConnectionPool.Connect(server.Endpoint, Guid.NewGuid(), RpcLimits.Default));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Equal(server.Endpoint, error.Endpoint);
    }

    [Fact]
    public static async Task A_client_finds_the_server_again_after_a_restart()
    {
        RpcEndpoint endpoint = NativeEndpoints.Fresh("local");
        Guid id;
        NativeConnectionPool client;
        await using (TestServer first = new(TestServer.Echo, endpoint: endpoint))
        {
            id = first.InterfaceId;
            client = first.Connect();
            client.Call("one"u8);
        }

        using (client)
        {
            RpcException gone = Assert.Throws<RpcException>(() => client.Call("two"u8));
            Assert.Equal(RpcStatusCode.Unavailable, gone.Code);
            Assert.False(gone.MayHaveExecuted);

            NativeListener again = NativeListener.Serve(
                endpoint, new ExecInterface(id, TestServer.Echo), RpcLimits.Default);
            Assert.Equal("three"u8.ToArray(), client.Call("three"u8));
            await again.DisposeAsync();
        }
    }
}
