using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Server;

/// <summary>Checks a listener's connections periodically.</summary>
/// <remarks>Its timer stops without connections, so that an unused listener costs nothing.</remarks>
internal sealed class ConnectionWatch : IDisposable, IAsyncDisposable
{
    private readonly TimeSpan _period;
    private readonly Action<long> _look;
    private readonly Func<bool> _isEmpty;
    private readonly Timer _timer;
    private int _watching;

    /// <param name="period">The time between two checks.</param>
    /// <param name="look">Checks all connections; receives <see cref="Environment.TickCount64"/>.</param>
    /// <param name="isEmpty">Whether no connection is left.</param>
    public ConnectionWatch(TimeSpan period, Action<long> look, Func<bool> isEmpty)
    {
        _period = period;
        _look = look;
        _isEmpty = isEmpty;
        _timer = new Timer(
            static state => ((ConnectionWatch)state!).Watch(), this, Timeout.Infinite, Timeout.Infinite);
    }

    /// <summary>Starts the timer if it is stopped. Call this after adding a connection.</summary>
    public void Start()
    {
        if (Interlocked.Exchange(ref _watching, 1) == 0)
        {
            SetTimer();
        }
    }

    /// <summary>Stops checking.</summary>
    public void Dispose() => _timer.Dispose();

    /// <summary>Stops checking, and waits for a running check.</summary>
    public ValueTask DisposeAsync() => _timer.DisposeAsync();

    private void SetTimer()
    {
        try
        {
            _timer.Change(_period, Timeout.InfiniteTimeSpan);
        }
        catch (ObjectDisposedException)
        {
            // The listener disposed the timer when it stopped, and closed all connections.
        }
    }

    private void Watch()
    {
        _look(Environment.TickCount64);
        if (!_isEmpty())
        {
            SetTimer();
            return;
        }

        // A connection that opened after _isEmpty returned true did not start the timer, because _watching
        // was still 1.
        Volatile.Write(ref _watching, 0);
        if (!_isEmpty())
        {
            Start();
        }
    }
}

/// <summary>A connection that can be closed so that another one is accepted.</summary>
internal interface ISpareConnection
{
    /// <summary>The key of <see cref="AddressQuota"/>; null if the transport has no addresses.</summary>
    IPAddress? Address { get; }

    /// <summary>How long the connection has been idle and anonymous, in milliseconds. 0 for a connection that
    /// is in use, or whose client is authenticated.</summary>
    long Spare(long now);

    /// <summary>Ends the connection if it can still be spared.</summary>
    bool TryGiveUp(long now);
}

/// <summary>Counts and limits the open connections of each remote address.</summary>
/// <param name="max">The maximum number of connections per address.</param>
internal sealed class AddressQuota(int max)
{
    private const int PrefixLength = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<IPAddress, int> _counts = [];

    /// <summary>The key for counting connections; null if the transport has no addresses.</summary>
    /// <remarks>The key of an IPv6 address is its /64 network, because one machine can use all addresses of
    /// it.</remarks>
    public static IPAddress? KeyOf(EndPoint? remote)
    {
        if (remote is not IPEndPoint { Address: { } address })
        {
            return null;
        }

        if (address.IsIPv4MappedToIPv6)
        {
            return address.MapToIPv4();
        }

        if (address.AddressFamily == AddressFamily.InterNetwork)
        {
            return address;
        }

        byte[] network = address.GetAddressBytes();
        network.AsSpan(PrefixLength).Clear();
        return IPAddress.IsLoopback(address) ? address : new IPAddress(network);
    }

    /// <summary>Counts a new connection. If the limit of its address or of the listener is reached, the
    /// connection that has been idle the longest is closed.</summary>
    /// <param name="key">The address of the new connection.</param>
    /// <param name="isFull">Whether the listener has its maximum number of connections.</param>
    /// <param name="open">The open connections.</param>
    /// <param name="remove">Removes a connection that was closed.</param>
    public bool TryAdmit<TConnection>(
        IPAddress? key, Func<bool> isFull, IEnumerable<TConnection> open, Action<TConnection> remove)
        where TConnection : class, ISpareConnection
    {
        if (!TryEnter(key) && !(MakeRoom(key) && TryEnter(key)))
        {
            return false;
        }

        if (!isFull() || MakeRoom(address: null))
        {
            return true;
        }

        Leave(key);
        return false;

        bool MakeRoom(IPAddress? address)
        {
            long now = Environment.TickCount64;
            while (open.Where(connection => address is null || address.Equals(connection.Address))
                .MaxBy(connection => connection.Spare(now)) is { } spare && spare.Spare(now) > 0)
            {
                if (spare.TryGiveUp(now))
                {
                    remove(spare);
                    return true;
                }
            }

            return false;
        }
    }

    /// <summary>Counts a new connection, unless the address has reached its limit.</summary>
    public bool TryEnter(IPAddress? key)
    {
        if (key is null)
        {
            return true;
        }

        lock (_gate)
        {
            int count = _counts.GetValueOrDefault(key);
            if (count >= max)
            {
                return false;
            }

            _counts[key] = count + 1;
            return true;
        }
    }

    /// <summary>Counts a closed connection.</summary>
    public void Leave(IPAddress? key)
    {
        if (key is null)
        {
            return;
        }

        lock (_gate)
        {
            if (--_counts[key] == 0)
            {
                _counts.Remove(key);
            }
        }
    }
}
