using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Looks up the addresses of host names.</summary>
internal static class HostLookup
{
    private const string Ended = "The time to look up a host is over.";

    /// <summary>The addresses of a host name, or the address that it is.</summary>
    /// <exception cref="SocketException">There is no such host.</exception>
    public static IPAddress[] Find(string host) =>
        IPAddress.TryParse(host, out IPAddress? address) ? [address] : Dns.GetHostAddresses(host);

    /// <summary>The same, until the time is over or the caller cancels. The system's call only blocks, and so
    /// ends later, on a thread of its own.</summary>
    /// <param name="host">The name.</param>
    /// <param name="clock">The time.</param>
    /// <param name="find">Looks up, usually <see cref="Find(string)"/>.</param>
    /// <exception cref="SocketException">There is no such host.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled, or the time is over.</exception>
    public static IPAddress[] Find(string host, CallClock clock, Func<string, IPAddress[]> find)
    {
        if (IPAddress.TryParse(host, out IPAddress? address))
        {
            return [address];
        }

        if (clock.IsEndless && !clock.Caller.CanBeCanceled)
        {
            return find(host);
        }

        clock.Caller.ThrowIfCancellationRequested();
        Task<IPAddress[]> finding = Task.Factory.StartNew(
            () => find(host), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        Wait(finding, clock);
        return finding.GetAwaiter().GetResult();
    }

    /// <summary>Waits for a lookup.</summary>
    /// <exception cref="OperationCanceledException">The caller cancelled, or the time is over.</exception>
    public static void Wait(Task lookup, CallClock clock)
    {
        int left = clock.IsEndless ? Timeout.Infinite : (int)clock.Left.TotalMilliseconds;
        if (Task.WaitAny([lookup], left, clock.Caller) < 0)
        {
            throw new OperationCanceledException(Ended);
        }
    }

    /// <inheritdoc cref="Wait"/>
    public static async Task WaitAsync(Task lookup, CallClock clock)
    {
        try
        {
            await lookup.WaitAsync(clock.Left, clock.Caller).ConfigureAwait(false);
        }
        catch (TimeoutException e)
        {
            throw new OperationCanceledException(Ended, e);
        }
    }
}
