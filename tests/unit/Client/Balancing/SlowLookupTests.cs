using System.Net;
using ProtoRpc.Client;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Client.Retries;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Client.Balancing;

/// <summary>Clients of several servers whose name server does not answer.</summary>
public sealed class SlowLookupTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(200);
    private static readonly RpcEndpoint Slow = RpcEndpoint.Tcp("slow.example", 9);
    private static readonly RetryPolicy Retry = new(Slow, policy: null, log: null);

    private readonly TaskCompletionSource _answer = new();
    private int _lookups;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Connecting_is_given_up_in_its_time(bool isAsync)
    {
        using BackendPicker picker = Create(Short);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => ConnectAsync(picker, isAsync, default));

        Assert.Equal(
            (RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout), (error.Code, error.ErrorId));
        Assert.Contains("DNS did not resolve the host name 'slow.example'", error.Message);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Connecting_ends_when_it_is_cancelled(bool isAsync)
    {
        using BackendPicker picker = Create(Timeout.InfiniteTimeSpan);
        using CancellationTokenSource cancel = new(Short);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => ConnectAsync(picker, isAsync, cancel.Token));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    [Fact]
    public async Task Neither_disposing_nor_the_side_channel_waits_and_all_calls_wait_for_one_lookup()
    {
        BackendPicker picker = Create(Short);
        await Assert.ThrowsAsync<RpcException>(() => ConnectAsync(picker, isAsync: true, default));
        await Assert.ThrowsAsync<RpcException>(() => ConnectAsync(picker, isAsync: false, default));

        await Task.Run(() => picker.Context = new()).WaitAsync(Patience);
        await Task.Run(picker.Dispose).WaitAsync(Patience);

        Assert.Equal(1, _lookups);
        await Assert.ThrowsAsync<ObjectDisposedException>(
            () => ConnectAsync(picker, isAsync: false, default));
    }

    [Fact]
    public async Task A_call_that_waits_goes_on_with_the_answer()
    {
        using BackendPicker picker = Create(Patience);
        Task connecting = ConnectAsync(picker, isAsync: true, default);

        _answer.TrySetResult();

        Assert.Equal(
            "the server of 192.0.2.1",
            (await Assert.ThrowsAsync<InvalidOperationException>(() => connecting)).Message);
    }

    public void Dispose() => _answer.TrySetResult();

    private static Task ConnectAsync(BackendPicker picker, bool isAsync, CancellationToken cancellation) =>
        Task.Run(async () =>
        {
            CallAttempts attempts = Retry.StartConnecting(picker, cancellation);
            if (isAsync)
            {
                await attempts.RunAsync<AsyncWait, IRpcChannel>(() => new(attempts.Channel));
            }
            else
            {
                BlockingWait.End(attempts.RunAsync<BlockingWait, IRpcChannel>(() => new(attempts.Channel)));
            }
        }).WaitAsync(Patience);

    private BackendPicker Create(TimeSpan connectTimeout) => new(
        RpcLoadBalancing.RoundRobin,
        new AddressResolver([Slow], LookUp),
        connectTimeout,
        resolved => throw new InvalidOperationException($"the server of {resolved.Endpoint.Host}"));

    private IPAddress[] LookUp(string host)
    {
        Interlocked.Increment(ref _lookups);
        _answer.Task.Wait(Patience * 2);
        return [IPAddress.Parse("192.0.2.1")];
    }
}
