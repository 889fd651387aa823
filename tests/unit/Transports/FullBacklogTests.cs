using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

/// <summary>Unix sockets whose listener does not accept, so that its queue is full and connecting
/// waits.</summary>
public static class FullBacklogTests
{
    // Connecting that ignores its limits would wait for ever.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [LinuxFact]
    public static async Task Connecting_is_given_up_in_its_time()
    {
        RpcEndpoint endpoint = NativeEndpoints.Fresh("local");
        using FullSocket full = new(PathOf(endpoint));

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => ConnectAsync(
            endpoint, TimeSpan.FromMilliseconds(500), default));

        Assert.Equal(
            (RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout), (error.Code, error.ErrorId));
    }

    [LinuxFact]
    public static async Task Connecting_ends_when_it_is_cancelled()
    {
        RpcEndpoint endpoint = NativeEndpoints.Fresh("local");
        using FullSocket full = new(PathOf(endpoint));
        using CancellationTokenSource cancel = new(TimeSpan.FromMilliseconds(300));

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => ConnectAsync(
            endpoint, Timeout.InfiniteTimeSpan, cancel.Token));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    [LinuxFact]
    public static async Task Connecting_goes_on_when_the_listener_accepts_again()
    {
        RpcEndpoint endpoint = NativeEndpoints.Fresh("local");
        using FullSocket full = new(PathOf(endpoint));
        Task<TransportConnection> connecting = ConnectAsync(endpoint, Patience, default);

        full.AcceptWaiting();

        using TransportConnection connection = await connecting;
        using Socket accepted = full.Accept();
        accepted.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        connection.Send(new byte[] { 7 });
        byte[] told = new byte[1];
        Assert.Equal(1, accepted.Receive(told));
        Assert.Equal([7], told);
    }

    private static string PathOf(RpcEndpoint endpoint) => OperatingSystem.IsWindows()
        ? throw new PlatformNotSupportedException()
        : Path.Combine(
            LocalSocketDirectory.Prepare(endpoint, "local"), endpoint.Name.ToLowerInvariant());

    // On a thread of its own, so that a connect that hangs fails the test and does not hold it up.
    private static async Task<TransportConnection> ConnectAsync(
        RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation) =>
        await Task.Factory.StartNew(
            () => NativeTransports.Get(endpoint).Connect(endpoint, null, timeout, cancellation),
            CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default)
            .WaitAsync(Patience);
}
