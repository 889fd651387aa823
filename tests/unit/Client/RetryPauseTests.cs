using ProtoRpc.Client;
using ProtoRpc.Client.Retries;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Client;

/// <summary>The pauses between the attempts of a call.</summary>
public static class RetryPauseTests
{
    private const int Retries = 5;

    [Fact]
    public static void Pauses_grow_where_nothing_is_logged()
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse("tcp://localhost:1");
        CallAttempts attempts = new(
            new RetryPolicy(endpoint, new() { Count = Retries }, log: null), source: null,
            CallClock.Start(Timeout.InfiniteTimeSpan));
        RecordedWait.Pauses = [];

        Assert.Throws<RpcException>(() => BlockingWait.End(attempts.RunAsync<RecordedWait, int>(
            () => throw new RpcException(RpcStatusCode.Unavailable, "No server."))));

        // Each pause is within a fifth of its size, which doubles.
        TimeSpan size = TimeSpan.FromMilliseconds(100);
        Assert.Equal(Retries, RecordedWait.Pauses.Count);
        foreach (TimeSpan pause in RecordedWait.Pauses)
        {
            Assert.InRange(pause, size * 0.8, size * 1.2);
            size *= 2;
        }
    }

    // Takes no time, and keeps how much it was asked for.
    private readonly struct RecordedWait : IWaitMode
    {
        [ThreadStatic]
        private static List<TimeSpan>? _pauses;

        public static List<TimeSpan> Pauses
        {
            get => _pauses!;
            set => _pauses = value;
        }

        public static bool IsBlocking => true;

        public static ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation)
        {
            Pauses.Add(time);
            return ValueTask.CompletedTask;
        }

        public static ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer) =>
            throw new NotSupportedException();

        public static ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes) =>
            throw new NotSupportedException();

        public static ValueTask WaitAsync(ValueTask task) => throw new NotSupportedException();

        public static ValueTask<TResult> WaitAsync<TResult>(Task<TResult> task) =>
            throw new NotSupportedException();

        public static ValueTask WaitAsync(Task task, TimeSpan time, CancellationToken cancellation) =>
            throw new NotSupportedException();

        public static ValueTask<bool> EnterAsync(
            SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation) =>
            throw new NotSupportedException();

        public static ValueTask<TResult> RunAsync<TResult>(Func<TResult> work) =>
            throw new NotSupportedException();
    }
}
