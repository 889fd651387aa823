using System.Security.Principal;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>Calls that their callers cancel, where the system has no message for it.</summary>
public static class MessageCancelTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(200);

    public static TheoryData<string, bool> Ways => MessageServer.Ways;

    public static TheoryData<string> Kinds => MessageServer.Kinds;

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_token_cancels_the_handler(string kind, bool blocking)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect();
        using CancellationTokenSource source = new();
        Task call = Begin(client, blocking, Timeout.InfiniteTimeSpan, source.Token);
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_deadline_cancels_the_handler_and_frees_the_thread(string kind)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxClientConnections = 1 });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Begin(client, blocking: true, Short, CancellationToken.None));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
        await Eventually.TrueAsync(() => !client.IsStuck, "the thread of the call ends");
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_client_that_closes_cancels_its_calls(string kind)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(kind, handler.Handle);
        NativeConnectionPool client = server.Connect();
        Task call = Begin(client, blocking: true, Timeout.InfiniteTimeSpan, CancellationToken.None);
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        client.Dispose();

        await Assert.ThrowsAsync<RpcException>(() => call);
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task The_other_calls_of_a_client_go_on(string kind)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect();
        using CancellationTokenSource source = new();
        Task<byte[]> other = client.CallAsync("other"u8.ToArray());
        Task call = Begin(client, blocking: false, Timeout.InfiniteTimeSpan, source.Token);
        await Eventually.TrueAsync(() => handler.Running == 2, "both handlers run");

        await source.CancelAsync();
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "one handler is cancelled");

        await Assert.ThrowsAsync<RpcException>(() => call);
        handler.Release();
        Assert.Equal("other"u8.ToArray(), await other);
        Assert.Equal(1, handler.Cancelled);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_request_of_the_limit_fits_with_its_id(string kind)
    {
        await using MessageServer server = new(
            kind, TestServer.Echo, new RpcLimits { MaxMessageBytes = 100_000 });
        using NativeConnectionPool client = server.Connect();
        byte[] request = ClientCalls.Bytes(100_000);

        Assert.Equal(request, client.Call(request));
    }

    [Theory]
    [InlineData("")]
    [InlineData("1000000010000000")]
    [InlineData("10000000100000000102030405060708090A0B0C0D0E0F")]
    [InlineData("11000000110000000102030405060708090A0B0C0D0E0F10")]
    [InlineData("10000000110000000102030405060708090A0B0C0D0E0F10")]
    public static async Task A_malformed_request_to_cancel_is_refused(string hex)
    {
        await using MessageServer server = new("memory", TestServer.Echo);

        Assert.Equal(WindowsStatus.BadStubData, Cancel(server, Convert.FromHexString(hex)));
    }

    [Fact]
    public static async Task A_call_that_does_not_run_is_not_found()
    {
        await using MessageServer server = new("memory", TestServer.Echo);

        Assert.Equal(WindowsStatus.NotFound, Cancel(server, Guid.NewGuid()));
        Assert.Equal(0u, Cancel(server, Guid.Empty));
    }

    [Theory]
    [InlineData(1, 0u, 1)]
    [InlineData(2, WindowsStatus.NotFound, 0)]
    public static async Task Only_the_process_that_calls_can_cancel(int process, uint status, int cancelled)
    {
        using BlockingHandler handler = new();
        MemoryMessages transport = new(Caller(1));
        await using MessageServer server = new(transport, handler.Handle);
        Guid id = Guid.NewGuid();
        byte[] stub = new byte[ExecStub.RequestPrefix + CancelStub.TrailerSize];
        CancelStub.WriteTrailer(stub.AsSpan(ExecStub.RequestPrefix), id);
        Task call = Task.Run(() => server.Send(stub));
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        transport.Caller = Caller(process);

        Assert.Equal(status, Cancel(server, id));
        await Eventually.TrueAsync(() => handler.Cancelled == cancelled, "the handler is cancelled, or not");
        handler.Release();
        await call;
        Assert.Equal(cancelled, handler.Cancelled);
    }

    [Fact]
    public static async Task A_payload_that_ends_as_an_id_does_stays_whole()
    {
        byte[] payload = new byte[CancelStub.TrailerSize + 3];
        CancelStub.WriteTrailer(payload.AsSpan(3), Guid.NewGuid());
        byte[] stub = new byte[ExecStub.RequestPrefix + payload.Length];
        ExecStub.WriteRequestPrefix(stub, payload.Length);
        payload.CopyTo(stub, ExecStub.RequestPrefix);
        await using MessageServer server = new("memory", TestServer.Echo);

        (byte[] reply, _) = ((MemoryMessages)server.Transport).Send(
            server.Endpoint, server.InterfaceId, stub);

        Assert.Equal(payload, reply);
    }

    private static PeerIdentity Caller(int process) =>
        new(new GenericIdentity("ann", "Kernel"), "", process, IsLocal: true);

    private static uint Cancel(MessageServer server, Guid id)
    {
        byte[] stub = new byte[CancelStub.RequestSize];
        CancelStub.WriteRequest(stub, id);
        return Cancel(server, stub);
    }

    private static uint Cancel(MessageServer server, byte[] stub) =>
        ((MemoryMessages)server.Transport).Send(server.Endpoint, CancelStub.InterfaceId, stub).Code;

    private static Task Begin(
        NativeConnectionPool client, bool blocking, TimeSpan timeout, CancellationToken cancellation) =>
        Task.Run(async () =>
        {
            using NativeClientCall exchange = client.Begin(CancellationToken.None);
            return blocking
                ? exchange.Execute(timeout, cancellation)
                : await exchange.ExecuteAsync(timeout, cancellation);
        });
}
