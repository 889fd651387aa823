using System.Security.Principal;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server.Calls;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>What a listener of whole messages lets in, from bytes.</summary>
public static class MessageListenerTests
{
    private static readonly PeerIdentity Ann = new(
        new GenericIdentity("ann", "Kernel"), "", 1, IsLocal: true)
    {
        ProtectionLevel = RpcProtectionLevel.Privacy,
    };

    [Theory]
    [InlineData("")]
    [InlineData("00000000")]
    [InlineData("00000000000000")]
    [InlineData("0100000001000000")]
    [InlineData("0100000002000000FFFF")]
    [InlineData("FFFFFFFFFFFFFFFF")]
    [InlineData("00000080000000800000")]
    public static async Task A_stub_that_cannot_be_decoded_is_refused(string hex)
    {
        await using MessageServer server = new("memory", _ => throw new InvalidOperationException());

        Assert.Equal(WindowsStatus.BadStubData, server.Send(Convert.FromHexString(hex)));
    }

    [Fact]
    public static async Task Octets_after_the_arguments_are_ignored()
    {
        await using MessageServer server = new("memory", TestServer.Echo);

        Assert.Equal(0u, server.Send(Convert.FromHexString("0100000001000000AA000000")));
    }

    [Fact]
    public static async Task A_stub_of_a_big_endian_caller_is_read()
    {
        await using MessageServer server = new("memory", TestServer.Echo);

        (byte[] payload, uint code) = ((MemoryMessages)server.Transport).Send(
            server.Endpoint, server.InterfaceId, Convert.FromHexString("0000000200000002ABCD"),
            isLittleEndian: false);

        Assert.Equal(0u, code);
        Assert.Equal([0xAB, 0xCD], payload);
    }

    [Fact]
    public static async Task A_request_over_the_limit_is_refused_and_one_of_the_limit_is_not()
    {
        RpcLimits limits = new() { MaxMessageBytes = 1000 };
        await using MessageServer server = new("memory", TestServer.Echo, limits);

        Assert.Equal(0u, server.Send(Stub(1000)));
        Assert.Equal(WindowsStatus.ServerTooBusy, server.Send(Stub(1001)));
    }

    [Fact]
    public static async Task An_interface_can_have_a_lower_limit()
    {
        await using MessageServer server = new(
            "memory", TestServer.Echo, with: service => service with { MaxRequestBytes = 10 });

        Assert.Equal(0u, server.Send(Stub(10)));
        Assert.Equal(WindowsStatus.ServerTooBusy, server.Send(Stub(11)));
    }

    [Fact]
    public static async Task Large_requests_count_until_they_are_answered()
    {
        RequestMemory memory = new(500_000);
        long held = 0;
        await using MessageServer server = new(
            "memory",
            call =>
            {
                held = memory.Held;
                return TestServer.Echo(call);
            },
            with: service => service with { Memory = memory });

        Assert.Equal(0u, server.Send(Stub(400_000)));

        Assert.InRange(held, 400_000, 400_100);
        Assert.Equal(0, memory.Held);
    }

    [Fact]
    public static async Task Requests_without_room_are_refused()
    {
        RequestMemory memory = new(500_000);
        RequestMemory.Share other = new(memory);
        Assert.True(other.TryHold(400_000));
        await using MessageServer server = new(
            "memory", TestServer.Echo, with: service => service with { Memory = memory });

        Assert.Equal(WindowsStatus.ServerTooBusy, server.Send(Stub(400_000)));
        Assert.Equal(0u, server.Send(Stub(1000)));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task Calls_over_the_bound_of_interface_or_listener_are_refused(bool ofInterface)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(
            "memory", handler.Handle,
            ofInterface ? RpcLimits.Default : new RpcLimits { MaxConnections = 1 },
            with: service => service with { MaxCalls = ofInterface ? 1 : null });
        Task<uint> first = Task.Run(() => server.Send(Stub(1)));
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        Assert.Equal(WindowsStatus.ServerTooBusy, server.Send(Stub(1)));

        handler.Release(2);
        Assert.Equal(0u, await first);
        Assert.Equal(0u, server.Send(Stub(1)));
    }

    [Fact]
    public static async Task Anonymous_callers_are_refused_where_callers_must_be_known()
    {
        RpcServerSecurity known = new() { Authentication = RpcAuthentication.Ntlm };
        await using MessageServer server = new(
            "memory", TestServer.Echo, with: service => service with { Security = known });

        Assert.Equal(WindowsStatus.AccessDenied, server.Send(Stub(1)));
    }

    [Fact]
    public static async Task The_system_says_who_calls()
    {
        RpcServerSecurity known = new() { Authentication = RpcAuthentication.Ntlm };
        string? name = null;
        await using MessageServer server = new(
            "memory",
            call =>
            {
                name = call.Peer.User.Name;
                return TestServer.Echo(call);
            },
            with: service => service with { Security = known }, caller: Ann);

        Assert.Equal(0u, server.Send(Stub(1)));
        Assert.Equal("ann", name);
    }

    [Fact]
    public static async Task Refused_calls_are_recorded()
    {
        CallMonitor monitor = new();
        await using MessageServer server = new(
            "memory", TestServer.Echo, new RpcLimits { MaxMessageBytes = 10 },
            with: service => service with { Monitor = monitor });

        Assert.Equal(WindowsStatus.ServerTooBusy, server.Send(Stub(11)));
        Assert.Equal(0, monitor.Running);
    }

    [Fact]
    public static async Task An_interface_belongs_to_one_server_of_the_process()
    {
        await using MessageServer server = new("memory", TestServer.Echo);
        ExecInterface same = new(server.InterfaceId, TestServer.Echo) { Monitor = new CallMonitor() };

        RpcException error = Assert.Throws<RpcException>(() => MessageListener.Serve(
            MessageServer.NewEndpoint(), same, RpcLimits.Default, server.Transport));

        Assert.Equal(RpcStatusCode.AlreadyExists, error.Code);
        Assert.Equal(RpcErrorIds.InterfaceInUse, error.ErrorId);
        Assert.Contains("another process", error.Message);
    }

    [Fact]
    public static async Task A_server_can_have_an_interface_on_several_endpoints()
    {
        MemoryMessages transport = new();
        ExecInterface service = new(Guid.NewGuid(), TestServer.Echo) { Monitor = new CallMonitor() };
        MessageListener one = MessageListener.Serve(
            MessageServer.NewEndpoint(), service, RpcLimits.Default, transport);
        MessageListener other = MessageListener.Serve(
            MessageServer.NewEndpoint(), service, RpcLimits.Default, transport);

        await one.StopServingAsync(service.InterfaceId, TimeSpan.Zero);

        Assert.Equal(0u, transport.Send(other.Endpoint, service.InterfaceId, Stub(3)).Code);
        await other.StopServingAsync(service.InterfaceId, TimeSpan.Zero);
    }

    [Fact]
    public static async Task Every_server_may_answer_pings()
    {
        MemoryMessages transport = new();
        MessageListener Serve() => MessageListener.Serve(
            MessageServer.NewEndpoint(),
            new ExecInterface(PingProtocol.InterfaceId, TestServer.Echo) { Monitor = new CallMonitor() },
            RpcLimits.Default, transport);

        MessageListener one = Serve();
        MessageListener other = Serve();

        await one.StopServingAsync(PingProtocol.InterfaceId, TimeSpan.Zero);
        await other.StopServingAsync(PingProtocol.InterfaceId, TimeSpan.Zero);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task An_endpoint_that_drains_does_not_get_the_calls_of_the_next_one(bool isSame)
    {
        using BlockingHandler handler = new();
        MemoryMessages transport = new();
        ExecInterface service = new(Guid.NewGuid(), handler.Handle);
        MessageListener ends = MessageListener.Serve(
            MessageServer.NewEndpoint(), service, RpcLimits.Default, transport);
        Task<uint> running = Task.Run(() => transport.Send(ends.Endpoint, service.InterfaceId, Stub(1)).Code);
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");
        Task stop = ends.StopServingAsync(service.InterfaceId, ClientCalls.Patience).AsTask();

        MessageListener next = MessageListener.Serve(
            isSame ? ends.Endpoint : MessageServer.NewEndpoint(),
            new ExecInterface(service.InterfaceId, TestServer.Echo) { Monitor = new CallMonitor() },
            RpcLimits.Default, transport);

        Assert.Equal(0u, transport.Send(next.Endpoint, service.InterfaceId, Stub(3)).Code);
        Assert.False(stop.IsCompleted);
        handler.Release();
        Assert.Equal(0u, await running);
        await stop;
        Assert.Equal(0u, transport.Send(next.Endpoint, service.InterfaceId, Stub(3)).Code);
        await next.StopServingAsync(service.InterfaceId, TimeSpan.Zero);
    }

    private static byte[] Stub(int length)
    {
        byte[] stub = new byte[ExecStub.RequestPrefix + length];
        ExecStub.WriteRequestPrefix(stub, length);
        return stub;
    }
}
