using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Blocking calls to a server that accepts connections, and neither reads nor answers.</summary>
public sealed class StuckServerTests : IDisposable
{
    // More than the buffers of both sockets take.
    private const int Large = 32 * 1024 * 1024;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly RpcClient _client;

    public StuckServerTests()
    {
        _listener.Start();
        _client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}/", SearchServer.Schema,
            new RpcClientOptions
            {
                Lazy = true,
                Limits = RpcLimits.Default with { MaxMessageBytes = 2 * Large },
            });
    }

    public void Dispose()
    {
        _client.Dispose();
        _listener.Stop();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(Large)]
    public async Task The_deadline_ends_the_call(int size)
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => Task.Run(() => Call(
            size, new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(300) })).WaitAsync(Patience));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(Large)]
    public async Task Cancelling_ends_the_call(int size)
    {
        using CancellationTokenSource stop = new();
        Task call = Task.Run(() => Call(size, new RpcCallOptions { Timeout = Patience }, stop.Token));
        using Socket accepted = await _listener.AcceptSocketAsync().WaitAsync(Patience);

        await stop.CancelAsync();

        Exception? error = await Record.ExceptionAsync(() => call.WaitAsync(Patience));
        Assert.True(
            error is OperationCanceledException or RpcException { Code: RpcStatusCode.Cancelled },
            $"{error}");
    }

    [Theory]
    [InlineData(1)]
    [InlineData(Large)]
    public async Task Closing_the_client_ends_the_call(int size)
    {
        Task call = Task.Run(() => Call(size, new RpcCallOptions { Timeout = Patience }));
        using Socket accepted = await _listener.AcceptSocketAsync().WaitAsync(Patience);

        await Task.Run(_client.Dispose).WaitAsync(Patience);

        Assert.NotNull(await Record.ExceptionAsync(() => call.WaitAsync(Patience)));
    }

    private void Call(int size, RpcCallOptions options, CancellationToken cancellation = default) =>
        _client.Invoke(
            _client.GetMethod("Search"),
            MessageFormats.Json.Read(SearchServer.RequestType, $$"""{"query":"{{new string('x', size)}}"}"""),
            options, cancellation);
}
