using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>What a client makes of the statuses and stubs that a transport of whole messages
/// returns.</summary>
public static class MessageConnectionTests
{
    [Theory]
    [InlineData(WindowsStatus.ServerUnavailable, RpcStatusCode.Unavailable)]
    [InlineData(WindowsStatus.EndpointNotRegistered, RpcStatusCode.Unavailable)]
    [InlineData(WindowsStatus.UnknownInterface, RpcStatusCode.Unimplemented)]
    [InlineData(WindowsStatus.AccessDenied, RpcStatusCode.PermissionDenied)]
    [InlineData(WindowsStatus.ServerTooBusy, RpcStatusCode.ResourceExhausted)]
    [InlineData(99999u, RpcStatusCode.Unknown)]
    public static void A_server_that_is_not_reached_is_an_error_at_once(uint status, RpcStatusCode code)
    {
        ScriptedMessages transport = new(_ => 0, () => status);
        using NativeConnectionPool client = Client(transport);

        RpcException error = Assert.Throws<RpcException>(() => client.Reach(ClientCalls.Patience));

        Assert.Equal(code, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Contains(client.Endpoint.ToString(), error.Message);
    }

    [Theory]
    [InlineData(WindowsStatus.CallFailed, RpcStatusCode.Unavailable, true)]
    [InlineData(WindowsStatus.ServerTooBusy, RpcStatusCode.ResourceExhausted, true)]
    [InlineData(WindowsStatus.AccessDenied, RpcStatusCode.PermissionDenied, false)]
    [InlineData(WindowsStatus.UnknownInterface, RpcStatusCode.Unimplemented, false)]
    [InlineData(WindowsStatus.BadStubData, RpcStatusCode.InvalidArgument, true)]
    [InlineData(99999u, RpcStatusCode.Unknown, true)]
    public static void A_status_of_a_sent_call_is_an_exception(
        uint status, RpcStatusCode code, bool mayHaveExecuted)
    {
        ScriptedMessages transport = new(message => Send(message, status));
        using NativeConnectionPool client = Client(transport);

        RpcException error = Assert.Throws<RpcException>(() => client.Call("x"u8));

        Assert.Equal(code, error.Code);
        Assert.Equal(mayHaveExecuted, error.MayHaveExecuted);
        Assert.Equal(0, client.ConnectionCount);
    }

    [Fact]
    public static void A_call_that_did_not_run_is_sent_again_on_a_new_connection()
    {
        const uint Status = WindowsStatus.CallFailedDidNotExecute;
        int calls = 0;
        ScriptedMessages transport = new(
            message => ++calls == 2 ? Send(message, Status) : Answer(message, Ok("x"u8)));
        using NativeConnectionPool client = Client(transport);
        Assert.Equal("x"u8.ToArray(), client.Call("a"u8));

        Assert.Equal("x"u8.ToArray(), client.Call("b"u8));

        Assert.Equal(3, calls);
        Assert.Equal(2, transport.Opened);
    }

    [Fact]
    public static void A_call_whose_server_is_lost_after_it_was_sent_is_not_sent_again()
    {
        int calls = 0;
        ScriptedMessages transport = new(message =>
        {
            calls++;
            return Send(message, WindowsStatus.ServerUnavailable);
        });
        using NativeConnectionPool client = Client(transport);

        RpcException error = Assert.Throws<RpcException>(() => client.Call("x"u8));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal(RpcErrorIds.ConnectionLost, error.ErrorId);
        Assert.True(error.MayHaveExecuted);
        Assert.Equal(1, calls);
    }

    [Theory]
    [InlineData("")]
    [InlineData("00000000")]
    [InlineData("0000000000000200FFFFFFFF00000000")]
    [InlineData("0500000000000200050000004142")]
    [InlineData("010000000000000000000000")]
    public static void A_reply_that_cannot_be_decoded_is_an_error_of_the_server(string hex)
    {
        ScriptedMessages transport = new(message => Answer(message, Convert.FromHexString(hex)));
        using NativeConnectionPool client = Client(transport);

        RpcException error = Assert.Throws<RpcException>(() => client.Call("x"u8));

        Assert.Equal(RpcErrorIds.ProtocolError, error.ErrorId);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static void What_the_transport_throws_comes_to_the_caller()
    {
        ScriptedMessages transport = new(_ => throw new InvalidDataException("told"));
        using NativeConnectionPool client = Client(transport);

        Assert.Equal("told", Assert.Throws<InvalidDataException>(() => client.Call("x"u8)).Message);
    }

    [Fact]
    public static void The_request_is_the_stub_of_the_original()
    {
        byte[] sent = [];
        ScriptedMessages transport = new(message =>
        {
            sent = new byte[message.Length];
            Assert.True(message.TryWrite(sent));
            message.Take(Ok(""u8), isLittleEndian: true);
            return 0;
        });
        using NativeConnectionPool client = Client(transport);

        Assert.Empty(client.Call("abc"u8));

        Assert.Equal("0300000003000000616263", Convert.ToHexString(sent));
    }

    [Fact]
    public static async Task A_call_that_was_given_up_before_it_was_written_is_not_sent()
    {
        using ManualResetEventSlim late = new();
        bool? written = null;
        ScriptedMessages transport = new(message =>
        {
            late.Wait();
            written = message.TryWrite(new byte[message.Length]);
            return WindowsStatus.CallCancelled;
        });
        using NativeConnectionPool client = Client(transport);
        client.Reach(ClientCalls.Patience);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Call("x"u8, TimeSpan.FromMilliseconds(500)));
        late.Set();

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(error.MayHaveExecuted);
        await Eventually.TrueAsync(() => transport.Closed == 1, "the connection is closed by its thread");
        Assert.False(written);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task Connecting_ends_with_its_time_or_its_caller(bool isCancelled)
    {
        using ManualResetEventSlim late = new();
        using CancellationTokenSource source = new();
        ScriptedMessages transport = new(_ => 0, () =>
        {
            if (isCancelled)
            {
                source.Cancel();
            }

            late.Wait();
            return 0;
        });
        using NativeConnectionPool client = Client(transport);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => Task.Run(() => client.Reach(
            isCancelled ? ClientCalls.Patience : TimeSpan.FromMilliseconds(50), source.Token)));
        late.Set();

        Assert.Equal(isCancelled ? RpcStatusCode.Cancelled : RpcStatusCode.DeadlineExceeded, error.Code);
        await Eventually.TrueAsync(() => transport.Closed == 1, "the connection is closed by its thread");
    }

    [Fact]
    public static async Task A_client_that_is_disposed_closes_its_connections()
    {
        ScriptedMessages transport = new(message => Answer(message, Ok("x"u8)));
        NativeConnectionPool client = Client(transport);
        client.Call("x"u8);

        client.Dispose();

        await Eventually.TrueAsync(() => transport.Closed == 1, "the connection is closed");
    }

    private static NativeConnectionPool Client(IMessageTransport transport) => NativeConnectionPool.Over(
        transport, MessageServer.NewEndpoint(), Guid.NewGuid(), RpcLimits.Default);

    private static uint Send(IOutgoingMessage message, uint status)
    {
        Assert.True(message.TryWrite(new byte[message.Length]));
        return status;
    }

    private static uint Answer(IOutgoingMessage message, byte[] stub)
    {
        message.Take(stub, isLittleEndian: true);
        return Send(message, 0);
    }

    private static byte[] Ok(ReadOnlySpan<byte> payload)
    {
        byte[] stub = new byte[ExecStub.ResponsePrefix + payload.Length + ExecStub.ResponseSuffix];
        payload.CopyTo(stub.AsSpan(ExecStub.ResponsePrefix));
        return stub[..ExecStub.WriteResponse(stub, payload.Length, 0)];
    }
}
