using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

public static class WaitModeTests
{
    [Fact]
    public static void A_blocking_body_ends_on_the_thread_of_its_caller()
    {
        int thread = Environment.CurrentManagedThreadId;

        int[] threads = BlockingWait.End(ThreadsOfAsync<BlockingWait>());

        Assert.All(threads, seen => Assert.Equal(thread, seen));
    }

    [Fact]
    public static void A_blocking_body_throws_what_the_task_failed_with()
    {
        InvalidOperationException failure = new("broken");

        InvalidOperationException thrown = Assert.Throws<InvalidOperationException>(
            () => BlockingWait.End(BlockingWait.WaitAsync(FailAsync(failure))));

        Assert.Same(failure, thrown);
    }

    [Fact]
    public static async Task An_asynchronous_body_does_not_hold_its_caller()
    {
        using ManualResetEventSlim gate = new();

        ValueTask<bool> body = AsyncWait.RunAsync(() =>
        {
            gate.Wait();
            return true;
        });
        bool held = body.IsCompleted;
        gate.Set();

        Assert.False(held);
        Assert.True(await body);
    }

    private static async ValueTask FailAsync(Exception failure)
    {
        await Task.Yield();
        throw failure;
    }

    private static async ValueTask<int[]> ThreadsOfAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        int before = Environment.CurrentManagedThreadId;
        await TWait.WaitAsync(new ValueTask(Task.Delay(10)));
        int between = Environment.CurrentManagedThreadId;
        int inside = await TWait.RunAsync(() => Environment.CurrentManagedThreadId);
        return [before, between, inside, Environment.CurrentManagedThreadId];
    }
}
