using System.Diagnostics;
using System.Net.Sockets;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Transports;

public static class HostilePeerTests
{
    public static TheoryData<string, bool> Attacks
    {
        get
        {
            TheoryData<string, bool> data = [];
            foreach (string attack in new[]
            {
                "nothing", "garbage", "wrong version", "http", "short header", "lying length",
                "request first", "half a bind", "half a request", "last without first", "interleaved",
                "oversize", "reset in a request", "many contexts", "protected request", "bad stub",
            })
            {
                data.Add(attack, true);
                data.Add(attack, false);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Attacks))]
    public static async Task The_listener_goes_on_serving_others(string attack, bool blocking)
    {
        RpcLimits limits = new() { MaxMessageBytes = 100_000, MaxBlockingConnections = blocking ? 64 : 0 };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using NativeConnectionPool other = server.Connect();

        Attack(attack, server);

        Assert.Equal("still here"u8.ToArray(), other.Call("still here"u8));
        using NativeConnectionPool late = server.Connect();
        Assert.Equal("here too"u8.ToArray(), late.Call("here too"u8));
        late.Dispose();
        await Eventually.TrueAsync(
            () => server.Listener.ConnectionCount == 1, "only the good client is left");
    }

    [Fact]
    public static async Task A_client_that_never_binds_is_cut_off()
    {
        RpcLimits limits = new() { BindTimeout = TimeSpan.FromMilliseconds(200) };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using RawPeer silent = new(server.Endpoint);
        using RawPeer slow = new(server.Endpoint);
        slow.Send(Conversation.Bind().AsSpan(0, 20));

        Assert.Empty(silent.ReadToEnd());
        Assert.Empty(slow.ReadToEnd());

        await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 0, "both are gone");
    }

    [Fact]
    public static async Task Bytes_that_trickle_in_do_not_keep_a_request_open()
    {
        RpcLimits limits = new() { FragmentTimeout = TimeSpan.FromMilliseconds(300) };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using RawPeer slow = RawPeer.Bound(server);
        byte[] request = Conversation.Request(new byte[5000]);
        long start = Stopwatch.GetTimestamp();

        Exception? cut = await Record.ExceptionAsync(async () =>
        {
            for (int i = 0; i < request.Length; i++)
            {
                slow.Send(request.AsSpan(i, 1));
                await Task.Delay(10);
            }
        });

        Assert.IsType<SocketException>(cut);
        Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(15));
    }

    [Fact]
    public static async Task A_request_whose_next_fragment_never_comes_is_cut_off_and_one_that_moves_is_not()
    {
        RpcLimits limits = new() { FragmentTimeout = TimeSpan.FromSeconds(2) };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using RawPeer moving = RawPeer.Bound(server);
        byte[] stub = Conversation.RequestStub(new byte[160 - ExecStub.RequestPrefix]);

        // Ten fragments take longer than one may, together; each has time to spare, for a busy machine.
        for (int i = 0; i < 10; i++)
        {
            PduFlags flags = (i == 0 ? PduFlags.First : 0) | (i == 9 ? PduFlags.Last : 0);
            moving.Send(Conversation.Fragment(stub.AsSpan(i * 16, 16), flags));
            await Task.Delay(250);
        }

        Assert.Equal(PduType.Response, PduHeader.Read(moving.ReadPdu()).Type);
        moving.Send(Conversation.Fragment(stub.AsSpan(0, 16), PduFlags.First, callId: 3));
        Assert.Empty(moving.ReadToEnd());
    }

    [Fact]
    public static async Task A_connection_without_calls_is_closed_after_the_idle_time()
    {
        RpcLimits limits = new() { IdleTimeout = TimeSpan.FromMilliseconds(300) };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        using NativeConnectionPool client = server.Connect();
        client.Call("once"u8);

        await Eventually.TrueAsync(
            () => server.Listener.ConnectionCount == 0, "the idle connection is closed");

        Assert.Equal("again"u8.ToArray(), client.Call("again"u8));
    }

    [Fact]
    public static async Task A_client_that_does_not_read_its_reply_is_cut_off()
    {
        RpcLimits limits = new()
        {
            FragmentTimeout = TimeSpan.FromMilliseconds(300),
            MaxMessageBytes = 64 << 20,
        };
        await using TestServer server = new(
            call =>
            {
                call.Reply.GetSpan(48 << 20);
                call.Reply.Advance(48 << 20);
                return ValueTask.CompletedTask;
            },
            limits,
            NativeEndpoints.Fresh("tcp"));
        using RawPeer deaf = RawPeer.Bound(server);
        deaf.Send(Conversation.Request([]));

        await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 0, "the deaf client is cut off");
    }

    [Fact]
    public static async Task A_thousand_half_open_connections_leave_room_for_a_good_one()
    {
        RpcLimits limits = new() { MaxConnections = 1100, MaxConnectionsPerAddress = 1100 };
        await using TestServer server = TestServer.Echoing("tcp", limits);
        List<RawPeer> silent = [];
        try
        {
            for (int i = 0; i < 1000; i++)
            {
                silent.Add(new RawPeer(server.Endpoint));
            }

            await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 1000, "all are accepted");
            using NativeConnectionPool good = server.Connect();
            Assert.Equal("good"u8.ToArray(), good.Call("good"u8));
        }
        finally
        {
            silent.ForEach(peer => peer.Dispose());
        }

        await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 0, "all are gone");
    }

    [Fact]
    public static async Task One_connection_too_many_is_told_so()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(
            handler.Handle, new RpcLimits { MaxConnections = 2 }, NativeEndpoints.Fresh("tcp"));
        using NativeConnectionPool first = server.Connect();
        using NativeConnectionPool second = server.Connect();
        Task[] calls = [Task.Run(() => first.Call("1"u8)), Task.Run(() => second.Call("2"u8))];
        await Eventually.TrueAsync(() => handler.Running == 2, "both connections have a call");

        RpcException error = Assert.Throws<RpcException>(() => server.Connect());

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("connections", error.Message, StringComparison.Ordinal);
        handler.Release(3);
        await Task.WhenAll(calls);
        first.Dispose();
        await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 1, "there is room again");
        using NativeConnectionPool third = server.Connect();
        Assert.Equal("room"u8.ToArray(), third.Call("room"u8));
    }

    private static void Attack(string attack, TestServer server)
    {
        using RawPeer peer = attack switch
        {
            "nothing" or "garbage" or "wrong version" or "http" or "short header" or "request first"
                or "half a bind" or "many contexts" => new RawPeer(server.Endpoint),
            _ => RawPeer.Bound(server),
        };
        switch (attack)
        {
            case "nothing":
                break;
            case "garbage":
                peer.Send(ClientCalls.Bytes(10_000));
                peer.ReadToEnd();
                break;
            case "wrong version":
                peer.Send([4, .. Conversation.Bind()[1..]]);
                Assert.Equal(PduType.BindNak, PduHeader.Read(peer.ReadPdu()).Type);
                break;
            case "http":
                peer.Send("GET / HTTP/1.1\r\nHost: here\r\n\r\n"u8);
                Assert.Empty(peer.ReadToEnd());
                break;
            case "short header":
                peer.Send([5, 0, 11]);
                break;
            case "lying length":
                peer.Send([5, 0, 0, 3, 0x10, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0]);
                AssertFault(peer, FaultStatus.ProtocolError);
                break;
            case "request first":
                peer.Send(Conversation.Request([]));
                AssertFault(peer, FaultStatus.ProtocolError);
                break;
            case "half a bind":
                peer.Send(Conversation.Bind().AsSpan(0, 40));
                break;
            case "half a request":
                peer.Send(Conversation.Request(new byte[1000]).AsSpan(0, 500));
                break;
            case "last without first":
                peer.Send(Conversation.Fragment(new byte[16], PduFlags.Last));
                AssertFault(peer, FaultStatus.ProtocolError);
                break;
            case "interleaved":
                peer.Send(Conversation.Fragment(new byte[16], PduFlags.First));
                peer.Send(Conversation.Fragment(new byte[16], PduFlags.Last, callId: 9));
                AssertFault(peer, FaultStatus.ProtocolError);
                break;
            case "oversize":
                SendOversize(peer);
                AssertFault(peer, FaultStatus.RequestTooLarge);
                break;
            case "reset in a request":
                peer.Send(Conversation.Fragment(new byte[16], PduFlags.First));
                peer.Reset();
                break;
            case "many contexts":
                SyntaxId served = SyntaxId.Interface(server.InterfaceId);
                ContextProposal[] contexts = [.. Enumerable.Range(0, 255)
                    .Select(i => new ContextProposal((ushort)i, served, [SyntaxId.Ndr]))];
                peer.Send(new BindPdu(5840, 5840, 0, contexts).ToBytes(PduType.Bind, 1));
                Assert.Equal(PduType.BindAck, PduHeader.Read(peer.ReadPdu()).Type);
                break;
            case "protected request":
                peer.Send(WireVector.Load("request-ntlm-privacy").Bytes);
                AssertFault(peer, FaultStatus.AccessDenied);
                break;
            case "bad stub":
                peer.Send(Conversation.Fragment(
                    [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], PduFlags.Single));
                AssertFault(peer, FaultStatus.BadStubData);
                break;
        }
    }

    private static void SendOversize(RawPeer peer)
    {
        byte[] part = new byte[4000];
        for (int i = 0; i < 40; i++)
        {
            peer.Send(Conversation.Fragment(part, i == 0 ? PduFlags.First : PduFlags.None));
        }
    }

    private static void AssertFault(RawPeer peer, uint status)
    {
        byte[] fault = peer.ReadPdu();
        Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(fault), fault, out uint told));
        Assert.Equal(status, told);
    }
}
