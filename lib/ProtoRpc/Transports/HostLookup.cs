using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Looks up the addresses of host names.</summary>
internal static class HostLookup
{
    /// <summary>The addresses of a host name, or the address itself.</summary>
    /// <exception cref="SocketException">The host does not exist.</exception>
    public static IPAddress[] Find(string host)
    {
        if (IPAddress.TryParse(host, out IPAddress? address))
        {
            return [address];
        }

        try
        {
            return Dns.GetHostAddresses(host);
        }
        catch (ArgumentException)
        {
            // .NET rejects names of more than 255 characters without asking the system.
            throw new SocketException((int)SocketError.HostNotFound);
        }
    }

    /// <summary>The same, until the time is over or the caller cancels. The system's call only blocks, and so
    /// ends later, on a thread of its own.</summary>
    /// <param name="host">The name.</param>
    /// <param name="clock">The time.</param>
    /// <param name="find">Looks up, usually <see cref="Find(string)"/>.</param>
    /// <exception cref="SocketException">The host does not exist.</exception>
    /// <exception cref="HostLookupTimeout">The time is over.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled.</exception>
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
        Task<IPAddress[]> finding = Start(host, find);
        BlockingWait.End(WaitAsync<BlockingWait>(finding, clock, () => host));
        return finding.GetAwaiter().GetResult();
    }

    /// <summary>The same until a token is cancelled, without holding the caller's thread.</summary>
    /// <exception cref="SocketException">The host does not exist.</exception>
    /// <exception cref="HostLookupTimeout">The token was cancelled.</exception>
    public static async Task<IPAddress[]> FindAsync(
        string host, Func<string, IPAddress[]> find, CancellationToken end)
    {
        if (IPAddress.TryParse(host, out IPAddress? address))
        {
            return [address];
        }

        try
        {
            IPAddress[] found = await Start(host, find).WaitAsync(end).ConfigureAwait(false);
            return found.Length > 0 ? found : throw new SocketException((int)SocketError.HostNotFound);
        }
        catch (OperationCanceledException e)
        {
            throw new HostLookupTimeout(host, e);
        }
    }

    /// <summary>Begins a lookup on a thread of its own.</summary>
    public static Task<IPAddress[]> Start(string host, Func<string, IPAddress[]> find) =>
        Task.Factory.StartNew(
            () => find(host), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>Waits for a lookup.</summary>
    /// <param name="lookup">The lookup.</param>
    /// <param name="clock">The time.</param>
    /// <param name="host">The name that is looked up, for errors.</param>
    /// <exception cref="HostLookupTimeout">The time is over.</exception>
    /// <exception cref="OperationCanceledException">The caller cancelled.</exception>
    public static async ValueTask WaitAsync<TWait>(Task lookup, CallClock clock, Func<string> host)
        where TWait : struct, IWaitMode
    {
        try
        {
            await TWait.WaitAsync(lookup, clock.Left, clock.Caller).ConfigureAwait(false);
        }
        catch (TimeoutException e)
        {
            throw new HostLookupTimeout(host(), e);
        }
    }
}

/// <summary>A host name was not looked up in time.</summary>
/// <param name="host">The name.</param>
/// <param name="cause">The exception that ended the wait; null for none.</param>
internal sealed class HostLookupTimeout(string host, Exception? cause = null)
    : OperationCanceledException($"The lookup of the host name '{host}' timed out.", cause)
{
    /// <summary>The name.</summary>
    public string Host => host;
}
