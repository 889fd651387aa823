using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Transports;

public static class NativeClientTests
{
    public static TheoryData<string> Kinds => NativeEndpoints.Kinds;

    [Theory]
    [MemberData(nameof(Kinds))]
    public static void Where_nothing_listens_the_endpoint_is_named(string kind)
    {
        RpcEndpoint endpoint = kind == "tcp" ? RpcEndpoint.Tcp("127.0.0.1", 1) : NativeEndpoints.Fresh(kind);

        RpcException error = Assert.Throws<RpcException>(
            () => NativeConnectionPool.Connect(endpoint, Guid.NewGuid(), RpcLimits.Default));

        Assert.Equal((RpcStatusCode.Unavailable, endpoint), (error.Code, error.Endpoint));
        Assert.Contains(endpoint.ToString(), error.Message, StringComparison.Ordinal);
        Assert.Contains("nothing listens", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_pipe_of_another_machine_needs_windows()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        RpcException error = Assert.Throws<RpcException>(() => NativeConnectionPool.Connect(
            RpcEndpoint.Parse(@"ncacn_np:server[\pipe\x]"), Guid.NewGuid(), RpcLimits.Default));

        Assert.Equal("RemotePipeNotSupported", error.ErrorId);
    }

    [Fact]
    public static void A_grpc_endpoint_is_not_native()
    {
        RpcException error = Assert.Throws<RpcException>(() => NativeConnectionPool.Connect(
            RpcEndpoint.Parse("grpc://localhost:1"), Guid.NewGuid(), RpcLimits.Default));

        Assert.Equal("NotNativeEndpoint", error.ErrorId);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_reply_that_comes_together_with_a_shutdown_is_taken(bool blocking)
    {
        using Socket listener = Listen(out RpcEndpoint endpoint);
        Task<Socket> serving = Task.Run(() =>
        {
            Socket peer = listener.Accept();
            byte[] pdu = new byte[1024];
            peer.Receive(pdu);
            peer.Send(Conversation.Server().Feed(Conversation.Bind()));
            peer.Receive(pdu);
            byte[] reply = Conversation.Fragment(new byte[12], PduFlags.Single, PduHeader.Read(pdu).CallId);
            reply[2] = (byte)PduType.Response;
            peer.Send([.. WireVector.Load("shutdown").Bytes, .. reply]);
            return peer;
        });
        using NativeConnectionPool client = NativeConnectionPool.Create(
            endpoint, Conversation.Service, RpcLimits.Default, RpcClientSecurity.Anonymous);
        using NativeClientCall exchange = client.Begin();
        TimeSpan patience = TimeSpan.FromSeconds(5);

        Assert.Equal(0, blocking ? exchange.Execute(patience) : await exchange.ExecuteAsync(patience));
        (await serving).Dispose();
    }

    [Fact]
    public static async Task A_server_that_says_nothing_is_given_up()
    {
        using Socket silent = Listen(out RpcEndpoint endpoint);
        RpcLimits limits = new() { ConnectTimeout = TimeSpan.FromMilliseconds(300) };

        RpcException error = Assert.Throws<RpcException>(
            () => NativeConnectionPool.Connect(endpoint, Guid.NewGuid(), limits));
        using CancellationTokenSource source = new(TimeSpan.FromMilliseconds(300));
        RpcException cancelled = await Assert.ThrowsAsync<RpcException>(() => Task.Run(
            () => NativeConnectionPool.Connect(
                endpoint, Guid.NewGuid(), RpcLimits.Default, cancellation: source.Token)));

        Assert.Equal((RpcStatusCode.DeadlineExceeded, "ConnectTimeout"), (error.Code, error.ErrorId));
        Assert.Contains(
            "accepted the connection, but did not reply within 0.3 s.", error.Message);
        Assert.Equal(RpcStatusCode.Cancelled, cancelled.Code);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task Closing_a_client_ends_its_connecting(bool blocking)
    {
        using Socket silent = Listen(out RpcEndpoint endpoint);
        NativeConnectionPool client = NativeConnectionPool.Create(
            endpoint, Guid.NewGuid(), new RpcLimits { ConnectTimeout = TimeSpan.FromMinutes(10) },
            RpcClientSecurity.Anonymous);
        using NativeClientCall exchange = client.Begin();
        Task<int> call = blocking
            ? Task.Run(() => exchange.Execute(Timeout.InfiniteTimeSpan))
            : exchange.ExecuteAsync(Timeout.InfiniteTimeSpan).AsTask();
        using Socket accepted = await silent.AcceptAsync();

        client.Dispose();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => call.WaitAsync(ClientCalls.Patience));
        Assert.Equal(RpcErrorIds.ClientClosed, error.ErrorId);
    }

    [Theory]
    [InlineData("closes", RpcStatusCode.Unavailable)]
    [InlineData("speaks http", RpcStatusCode.Internal)]
    public static async Task A_server_of_another_kind_is_told_from_one_that_is_down(
        string server, RpcStatusCode code)
    {
        using Socket listener = Listen(out RpcEndpoint endpoint);
        Task serving = ServeAsync(listener, async socket =>
        {
            // The probes for its protocol are refused, and so do not wait for an answer.
            listener.Close();
            if (server == "speaks http")
            {
                await socket.SendAsync("HTTP/1.1 400 Bad Request\r\n\r\n"u8.ToArray());
            }
        });

        RpcException error = Assert.Throws<RpcException>(
            () => NativeConnectionPool.Connect(endpoint, Guid.NewGuid(), RpcLimits.Default));

        await serving;
        Assert.Equal((code, endpoint), (error.Code, error.Endpoint));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_call_that_may_have_run_is_not_sent_again(bool blocking)
    {
        int requests = 0;
        using Socket listener = Listen(out RpcEndpoint endpoint);
        int connections = blocking ? 1 : 2;
        Task serving = Task.WhenAll(Enumerable.Range(0, connections).Select(_ => ServeAsync(
            listener,
            async socket =>
            {
                byte[] buffer = new byte[8192];
                await socket.ReceiveAsync(buffer);
                await socket.SendAsync(Conversation.Server().Feed(Conversation.Bind()));
                if (await socket.ReceiveAsync(buffer) > 0)
                {
                    Interlocked.Increment(ref requests);
                }
            })));
        using NativeConnectionPool client =
            NativeConnectionPool.Connect(endpoint, Conversation.Service, RpcLimits.Default);

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            using NativeClientCall exchange = client.Begin();
            if (blocking)
            {
                exchange.Execute(ClientCalls.Patience);
            }
            else
            {
                await exchange.ExecuteAsync(ClientCalls.Patience);
            }
        });

        Assert.Equal((RpcStatusCode.Unavailable, true), (error.Code, error.MayHaveExecuted));
        Assert.Equal("ConnectionLost", error.ErrorId);
        client.Dispose();
        await serving;
        Assert.Equal(1, requests);
    }

    [Fact]
    public static async Task An_answer_to_another_call_is_a_protocol_error_and_the_connection_is_closed()
    {
        using Socket listener = Listen(out RpcEndpoint endpoint);
        Task serving = ServeAsync(listener, async socket =>
        {
            byte[] buffer = new byte[8192];
            await socket.ReceiveAsync(buffer);
            await socket.SendAsync(Conversation.Server().Feed(Conversation.Bind()));
            await socket.ReceiveAsync(buffer);
            byte[] answer = WireVector.Load("ndr-response-5").Bytes;
            answer[12] = 7;
            await socket.SendAsync(answer);
            Assert.Equal(0, await socket.ReceiveAsync(buffer));
        });
        using NativeConnectionPool client =
            NativeConnectionPool.Connect(endpoint, Conversation.Service, RpcLimits.Default);

        RpcException error = Assert.Throws<RpcException>(() => client.Call([]));

        Assert.Equal((RpcStatusCode.Internal, "ProtocolError"), (error.Code, error.ErrorId));
        Assert.Equal(0, client.ConnectionCount);
        await serving;
    }

    [Fact]
    public static async Task The_recorded_answer_of_Wine_is_taken_every_time_though_its_call_id_is_always_1()
    {
        using Socket listener = Listen(out RpcEndpoint endpoint);
        byte[] answer = WireVector.Load("ndr-response-5").Bytes;
        Task serving = ServeAsync(listener, async socket =>
        {
            byte[] buffer = new byte[8192];
            await socket.ReceiveAsync(buffer);
            await socket.SendAsync(Conversation.Server().Feed(Conversation.Bind()));
            for (int i = 0; i < 4; i++)
            {
                await socket.ReceiveAsync(buffer);
                await socket.SendAsync(answer);
            }

            await ReadEndAsync(socket);
        });
        ListLogger log = new();
        using (NativeConnectionPool client = NativeConnectionPool.Create(
            endpoint, Conversation.Service, RpcLimits.Default, RpcClientSecurity.Anonymous,
            log: ClientLog.From<RpcClient>(new() { LoggerFactory = log })))
        {
            byte[] first = client.Call([]);
            Assert.Equal(5, first.Length);
            for (int i = 0; i < 3; i++)
            {
                Assert.Equal(first, client.Call([]));
            }

            Assert.Equal(1, client.ConnectionCount);
        }

        await serving;
        (_, LogLevel level, string note, _) = Assert.Single(log.Entries);
        Assert.Equal(LogLevel.Warning, level);
        Assert.Contains("call_id", note, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_server_that_asks_to_leave_is_left_before_the_next_call()
    {
        using Socket listener = Listen(out RpcEndpoint endpoint);
        Task serving = Task.Run(async () =>
        {
            for (int i = 0; i < 2; i++)
            {
                await ServeAsync(listener, async socket =>
                {
                    using ServerAssociation server = Conversation.Server();
                    byte[] buffer = new byte[8192];
                    for (int k = 0; k < 2; k++)
                    {
                        int count = await socket.ReceiveAsync(buffer);
                        await socket.SendAsync(server.Feed(buffer.AsSpan(0, count)));
                    }

                    await socket.SendAsync(WireVector.Load("shutdown").Bytes);
                    await ReadEndAsync(socket);
                });
            }
        });
        using (NativeConnectionPool client = NativeConnectionPool.Connect(
            endpoint, Conversation.Service, RpcLimits.Default))
        {
            Assert.Equal("one"u8.ToArray(), client.Call("one"u8));
            await Task.Delay(50);
            Assert.Equal("two"u8.ToArray(), client.Call("two"u8));
        }

        await serving;
    }

    [Theory]
    [InlineData("tcp")]
    [InlineData("local")]
    public static async Task A_request_over_the_servers_limit_is_an_error_that_says_so(string kind)
    {
        await using TestServer server = TestServer.Echoing(kind, new RpcLimits { MaxMessageBytes = 100_000 });
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxMessageBytes = 20 << 20 });

        RpcException error = Assert.Throws<RpcException>(() => client.Call(new byte[3 << 20]));

        Assert.Equal(
            (RpcStatusCode.ResourceExhausted, FaultStatus.RequestTooLarge), (error.Code, error.NativeStatus));
        Assert.False(error.MayHaveExecuted);
        Assert.Equal("next"u8.ToArray(), client.Call("next"u8));
    }

    [Fact]
    public static async Task A_request_over_the_clients_limit_is_not_sent()
    {
        await using TestServer server = TestServer.Echoing("local");
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxMessageBytes = 1000 });

        RpcException error = Assert.Throws<RpcException>(() => client.Call(new byte[1001]));

        Assert.Equal((RpcStatusCode.ResourceExhausted, "MessageTooLarge"), (error.Code, error.ErrorId));
        Assert.Equal(1000, client.Call(new byte[1000]).Length);
    }

    [Theory]
    [InlineData(1000, 1 << 20, RpcStatusCode.ResourceExhausted)]
    [InlineData(1 << 20, 1000, RpcStatusCode.ResourceExhausted)]
    public static async Task A_reply_over_either_limit_is_an_error(
        int serverLimit, int clientLimit, RpcStatusCode code)
    {
        await using TestServer server = new(
            call =>
            {
                System.Buffers.BuffersExtensions.Write(call.Reply, new byte[1001]);
                return ValueTask.CompletedTask;
            },
            new RpcLimits { MaxMessageBytes = serverLimit });
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxMessageBytes = clientLimit });

        RpcException error = Assert.Throws<RpcException>(() => client.Call([]));

        Assert.Equal(code, error.Code);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task More_calls_than_connections_wait_for_each_other()
    {
        await using TestServer server = TestServer.Echoing("local");
        RpcLimits limits = new() { MaxClientConnections = 2, CallTimeout = TimeSpan.FromMilliseconds(200) };
        using NativeConnectionPool client = server.Connect(limits);
        NativeClientCall first = client.Begin();
        using NativeClientCall second = client.Begin();

        RpcException error = Assert.Throws<RpcException>(() => client.Begin());
        first.Dispose();
        first.Dispose();
        using NativeClientCall third = client.Begin();

        Assert.Equal("ClientConnectionsExhausted", error.ErrorId);
        Assert.Equal(0, third.Execute(ClientCalls.Patience));
    }

    [Fact]
    public static async Task A_closed_client_begins_nothing()
    {
        await using TestServer server = TestServer.Echoing("local");
        NativeConnectionPool client = server.Connect();
        NativeClientCall running = client.Begin();
        client.Dispose();

        Assert.Equal("ClientClosed", Assert.Throws<RpcException>(() => client.Begin()).ErrorId);
        Assert.Equal(
            RpcStatusCode.Cancelled,
            Assert.Throws<RpcException>(() => running.Execute(ClientCalls.Patience)).Code);
        running.Dispose();

        Assert.Equal(0, client.ConnectionCount);
        Assert.Throws<ObjectDisposedException>(() => running.Request);
    }

    private static Socket Listen(out RpcEndpoint endpoint)
    {
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen();
        endpoint = RpcEndpoint.Tcp("127.0.0.1", ((IPEndPoint)socket.LocalEndPoint!).Port);
        return socket;
    }

    // A client that closes with something unread resets the connection.
    private static async Task ReadEndAsync(Socket socket)
    {
        try
        {
            Assert.Equal(0, await socket.ReceiveAsync(new byte[1]));
        }
        catch (SocketException e)
        {
            Assert.Equal(SocketError.ConnectionReset, e.SocketErrorCode);
        }
    }

    private static async Task ServeAsync(Socket listener, Func<Socket, Task> serve)
    {
        using Socket socket = await listener.AcceptAsync();
        await serve(socket);
    }
}
