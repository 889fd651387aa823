using System.Collections.Concurrent;
using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>Clients that call one after the other, each call with a name of its own, until they are stopped.
/// A call that fails is not made again.</summary>
internal sealed class Callers : IAsyncDisposable
{
    // A busy machine may take a moment to run what the deadline's timer woke.
    private static readonly TimeSpan Margin = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan PauseAfterFailure = TimeSpan.FromMilliseconds(20);
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;
    private readonly TimeSpan _deadline;
    private long _failed;

    public Callers(ToolServer server, TimeSpan deadline, RpcClientOptions? options = null, int count = 6)
    {
        _deadline = deadline;
        _running = Task.WhenAll(Enumerable.Range(0, count).Select(
            number => Task.Run(() => CallAsync(number, server.Connect(options)))));
    }

    /// <summary>The names of the calls that were answered.</summary>
    public ConcurrentQueue<string> Acknowledged { get; } = new();

    public long Failed => Interlocked.Read(ref _failed);

    /// <summary>Waits until more calls were answered.</summary>
    public async Task MoreAsync(int count = 20)
    {
        int goal = Acknowledged.Count + count;
        await ToolServer.UntilAsync(() => _running.IsCompleted || Acknowledged.Count >= goal, "answers");
        await ThrowAsync();
    }

    /// <summary>Waits until more calls failed.</summary>
    public async Task MoreFailuresAsync(int count)
    {
        long goal = Failed + count;
        await ToolServer.UntilAsync(() => _running.IsCompleted || Failed >= goal, "failures");
        await ThrowAsync();
    }

    /// <summary>Ends the calls, after those that run.</summary>
    public async Task StopAsync()
    {
        await _stop.CancelAsync();
        await _running.WaitAsync(_deadline + Margin);
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _stop.Dispose();
    }

    private async Task ThrowAsync()
    {
        if (_running.IsCompleted)
        {
            await _running;
        }
    }

    private async Task CallAsync(int number, RpcClient client)
    {
        using RpcClient owned = client;
        for (int i = 0; !_stop.IsCancellationRequested; i++)
        {
            string text = $"call-{number}-{i}";
            long start = Stopwatch.GetTimestamp();
            try
            {
                DynamicMessage reply = await client.InvokeAsync(
                    "Say", new { text }, new RpcCallOptions { Timeout = _deadline });
                Assert.Equal("done", WordsServer.TextOf(reply));
                Acknowledged.Enqueue(text);
            }
            catch (RpcException e)
            {
                Assert.False(string.IsNullOrWhiteSpace(e.Message));
                Interlocked.Increment(ref _failed);
                await Task.Delay(PauseAfterFailure);
            }

            Assert.InRange(Stopwatch.GetElapsedTime(start), TimeSpan.Zero, _deadline + Margin);
        }
    }
}
