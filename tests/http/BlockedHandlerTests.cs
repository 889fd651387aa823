using System.Net.Sockets;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Handlers that block their thread, which reads from the connection otherwise.</summary>
public sealed class BlockedHandlerTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly Dictionary<string, object?> Request = new() { ["query"] = "x" };

    private readonly SemaphoreSlim _release = new(0);
    private readonly RpcServer _server;
    private int _running;
    private int _cancelled;

    public BlockedHandlerTests() => _server = RpcServer
        .Create(SearchServer.Schema, null, new RpcServerOptions().WithHttp())
        .Handle("Wait", (context, _) =>
        {
            Interlocked.Increment(ref _running);
            try
            {
                _release.Wait(context.CancellationToken);
                return ValueTask.FromResult<IMessage>(SearchServer.Found("released"));
            }
            catch (OperationCanceledException)
            {
                Interlocked.Increment(ref _cancelled);
                throw;
            }
        })
        .Handle("Search", (_, _) => ValueTask.FromResult<IMessage>(SearchServer.Found("found")))
        .AddEndpoint("http://127.0.0.1:0/")
        .AddEndpoint("grpc://127.0.0.1:0")
        .StartListening();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_client_that_disconnects_cancels_its_call(bool resets)
    {
        using (TcpClient client = await WaitAsync())
        {
            await EventuallyAsync(() => Volatile.Read(ref _running) == 1);
            if (resets)
            {
                client.Client.LingerState = new LingerOption(enable: true, seconds: 0);
            }
        }

        await EventuallyAsync(() => Volatile.Read(ref _cancelled) == 1);
        await EventuallyAsync(() => _server.Counters.Connections == 0);
    }

    [Fact]
    public async Task A_client_that_cancels_a_call_of_gRPC_cancels_its_handler()
    {
        using RpcClient client = RpcClient.Connect(_server.Endpoints[1], SearchServer.Schema);
        using CancellationTokenSource source = new();
        Task call = client.InvokeAsync(
            "Wait", Request, cancellationToken: source.Token);
        await EventuallyAsync(() => Volatile.Read(ref _running) == 1);

        await source.CancelAsync();

        await Assert.ThrowsAsync<RpcException>(() => call);
        await EventuallyAsync(() => Volatile.Read(ref _cancelled) == 1);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Other_calls_are_answered_meanwhile_and_the_blocked_ones_afterwards(int endpoint)
    {
        const int Blocked = 6;
        using RpcClient client = RpcClient.Connect(_server.Endpoints[endpoint], SearchServer.Schema);
        Task<DynamicMessage>[] calls =
        [
            .. Enumerable.Range(0, Blocked).Select(
                _ => client.InvokeAsync("Wait", Request)),
        ];
        await EventuallyAsync(() => Volatile.Read(ref _running) == Blocked);

        DynamicMessage found = await client.InvokeAsync("Search", Request)
            .WaitAsync(Patience);
        _release.Release(Blocked);
        DynamicMessage[] replies = await Task.WhenAll(calls).WaitAsync(Patience);

        Assert.Equal(SearchServer.Found("found"), found);
        Assert.All(replies, reply => Assert.Equal(SearchServer.Found("released"), reply));
        Assert.Equal(0, Volatile.Read(ref _cancelled));
    }

    public void Dispose()
    {
        _release.Release(100);
        _server.Dispose();
        _release.Dispose();
    }

    private async Task<TcpClient> WaitAsync()
    {
        TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", _server.Endpoints[0].Port);
        await client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(
            "POST /ProtoService.SearchService/Wait HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"query\":\"x\"}"));
        return client;
    }

    private static async Task EventuallyAsync(Func<bool> isSo)
    {
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; !isSo();)
        {
            Assert.True(Environment.TickCount64 < until, "Not so in time.");
            await Task.Delay(10);
        }
    }
}
