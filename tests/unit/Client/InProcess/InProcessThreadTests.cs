using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Tests.Client.Talk;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client.InProcess;

/// <summary>On which thread handlers of the same process run, and what they see there.</summary>
public static class InProcessThreadTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task A_caller_who_only_waits_runs_the_handler_on_its_thread()
    {
        int ran = 0;
        using RpcServer server = Serve(_ => ran = Environment.CurrentManagedThreadId);
        using RpcClient client = Connect(server);

        int caller = Environment.CurrentManagedThreadId;
        client.Invoke<Words>("Say", new Words());
        Assert.Equal(caller, ran);

        ran = 0;
        caller = Environment.CurrentManagedThreadId;
        Task<Words> call = client.InvokeAsync<Words>("Say", new Words());
        Assert.Equal((true, caller), (call.IsCompletedSuccessfully, ran));
        await call;
    }

    [Theory]
    [InlineData("timeout")]
    [InlineData("deadline")]
    [InlineData("cancellation")]
    [InlineData("scheduler")]
    [InlineData("shell")]
    public static async Task A_caller_who_may_leave_does_not(string why)
    {
        int ran = 0;
        using RpcServer server = Serve(
            _ => ran = Environment.CurrentManagedThreadId,
            new RpcServerOptions { UsesOwnThreads = why == "shell" });
        using RpcClient client = Connect(server);
        using CancellationTokenSource cancel = new();
        RpcCallOptions? options = why switch
        {
            "timeout" => new() { Timeout = Patience },
            "deadline" => new() { Deadline = DateTimeOffset.UtcNow + Patience },
            _ => null,
        };

        // A thread that blocks, which the pool cannot use for the handler.
        int caller = 0;
        Task task = new(
            () =>
            {
                caller = Environment.CurrentManagedThreadId;
                client.Invoke<Words>(
                    "Say", new Words(), options, why == "cancellation" ? cancel.Token : default);
            },
            TaskCreationOptions.LongRunning);
        task.Start(why == "scheduler" ? new OneThread() : TaskScheduler.Default);
        await task.WaitAsync(Patience);

        Assert.NotEqual(0, ran);
        Assert.NotEqual(caller, ran);
    }

    [Fact]
    public static async Task A_handler_that_never_returns_holds_no_caller_who_set_a_timeout()
    {
        using ManualResetEventSlim end = new();
        using RpcServer server = Serve(_ => end.Wait(Patience));
        using RpcClient client = Connect(server);

        Task call = Task.Run(() => client.Invoke<Words>(
            "Say", new Words(), new() { Timeout = TimeSpan.FromMilliseconds(50) }));
        RpcException late = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));
        end.Set();

        Assert.Equal((RpcStatusCode.DeadlineExceeded, true), (late.Code, late.MayHaveExecuted));
    }

    [Fact]
    public static async Task A_canned_reply_comes_at_once_whatever_the_caller_set()
    {
        using RpcServer server = RpcServer.Create(
            TalkServer.Schema, null, new RpcServerOptions { UsesOwnThreads = true })
            .Handle("Say", RpcMethodHandler.OfReplies(new { text = "canned" }))
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();
        using RpcClient client = Connect(server);
        using CancellationTokenSource cancel = new();

        Task<Words> call = client.InvokeAsync<Words>(
            "Say", new Words(), new() { Timeout = Patience }, cancel.Token);

        Assert.True(call.IsCompletedSuccessfully);
        Assert.Equal("canned", (await call).Text);
    }

    [Fact]
    public static void A_handler_sees_nothing_of_its_callers_thread_which_keeps_all()
    {
        SynchronizationContext own = new();
        SynchronizationContext? shown = own;
        CultureInfo before = CultureInfo.CurrentCulture;
        CultureInfo ofCaller = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        CultureInfo? ofHandler = null;
        using RpcServer server = Serve(_ =>
        {
            (shown, ofHandler) = (SynchronizationContext.Current, CultureInfo.CurrentCulture);
            CultureInfo.CurrentCulture = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        });
        using RpcClient client = Connect(server);
        SynchronizationContext? outer = SynchronizationContext.Current;
        try
        {
            CultureInfo.CurrentCulture = ofCaller;
            SynchronizationContext.SetSynchronizationContext(own);

            client.Invoke<Words>("Say", new Words());

            Assert.Null(shown);
            Assert.NotNull(ofHandler);
            Assert.NotSame(ofCaller, ofHandler);
            Assert.Same(ofCaller, CultureInfo.CurrentCulture);
            Assert.Same(own, SynchronizationContext.Current);
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(outer);
            CultureInfo.CurrentCulture = before;
        }
    }

    [Fact]
    public static async Task Handlers_that_call_themselves_need_no_end_of_stack()
    {
        const int Depth = 3000;
        RpcClient? client = null;
        using RpcServer server = Serve(
            request =>
            {
                int left = int.Parse(request.Text, CultureInfo.InvariantCulture);
                if (left > 0)
                {
                    client!.Invoke<Words>("Say", new Words { Text = $"{left - 1}" });
                }
            },
            new RpcServerOptions
            {
                Limits = RpcLimits.Default with
                {
                    MaxStreamsPerConnection = Depth * 2,
                    MaxConcurrentCalls = Depth * 2,
                },
            });
        using (client = Connect(server))
        {
            await Task.Run(() => client.Invoke<Words>("Say", new Words { Text = $"{Depth}" }))
                .WaitAsync(Patience);
        }

        await Eventually.TrueAsync(() => server.Counters.Calls == Depth + 1, "all calls have ended");
    }

    [Fact]
    public static async Task Memory_of_calls_that_were_given_up_is_not_used_twice()
    {
        using RpcServer server = RpcServer.Create(TalkServer.Schema)
            .Handle<Words, Words>("Say", async (_, request) =>
            {
                // Later than many callers, and without regard to them.
                await Task.Delay(Random.Shared.Next(4)).ConfigureAwait(false);
                return request;
            })
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();
        using RpcClient client = Connect(server);
        int answered = 0;
        int late = 0;

        await Task.WhenAll(Enumerable.Range(1, 8).Select(async caller =>
        {
            for (int i = 0; i < 200; i++)
            {
                byte[] payload = new byte[1000 + (i * 10)];
                payload.AsSpan().Fill((byte)(caller * 31 + i));
                try
                {
                    Words reply = await client.InvokeAsync<Words>(
                        "Say", new Words { Payload = ByteString.CopyFrom(payload) },
                        new() { Timeout = TimeSpan.FromMilliseconds(2) });
                    Assert.Equal(payload, reply.Payload.ToByteArray());
                    Interlocked.Increment(ref answered);
                }
                catch (RpcException e) when (e.Code == RpcStatusCode.DeadlineExceeded)
                {
                    Interlocked.Increment(ref late);
                }
            }
        })).WaitAsync(Patience);

        Assert.Equal(8 * 200, answered + late);
        await Eventually.TrueAsync(() => server.Counters.InFlight == 0, "all calls have ended");
    }

    private static RpcServer Serve(Action<Words> handle, RpcServerOptions? options = null) =>
        RpcServer.Create(TalkServer.Schema, null, options)
            .Handle<Words, Words>("Say", (_, request) =>
            {
                handle(request);
                return request;
            })
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();

    private static RpcClient Connect(RpcServer server) =>
        RpcClient.Connect(server.Endpoints[0], TalkServer.Schema);

    /// <summary>Runs tasks on threads of its own, one after the other.</summary>
    private sealed class OneThread : TaskScheduler
    {
        protected override IEnumerable<Task>? GetScheduledTasks() => null;

        protected override void QueueTask(Task task) => new Thread(() => TryExecuteTask(task)).Start();

        protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;
    }
}
