using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Connections;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting;

/// <summary>The open connections of an endpoint on Kestrel. Silent ones are closed after a time, and where
/// there are as many as there may be, the one that waits for its client the longest makes room.</summary>
/// <remarks>Kestrel itself lets a connection that never sends a request wait as long as one between two
/// requests.</remarks>
internal sealed class HttpConnections : IDisposable
{
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(250);

    // Kestrel answers half a request with 408 when the time for it is up. It looks once a second and adds a
    // second, and a busy machine is later still.
    private static readonly TimeSpan KestrelDelay = TimeSpan.FromSeconds(4);

    private readonly RpcLimits _limits;
    private readonly Lock _admission = new();
    private readonly AddressQuota _quota;
    private readonly ConcurrentDictionary<HttpConnection, bool> _open = new();
    private readonly ConnectionWatch _watch;
    private int _count;
    private long _accepted;

    public HttpConnections(RpcLimits limits)
    {
        _limits = limits;
        _quota = new AddressQuota(limits.MaxConnectionsPerAddress);
        _watch = new ConnectionWatch(WatchPeriod, Look, () => _open.IsEmpty);
    }

    /// <summary>Connections now open.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Connections accepted.</summary>
    public long Accepted => Interlocked.Read(ref _accepted);

    /// <summary>Admits connections, or closes them immediately.</summary>
    public ConnectionDelegate Admit(ConnectionDelegate next) => async connection =>
    {
        Interlocked.Increment(ref _accepted);
        HttpConnection entry = new(connection);
        if (!TryAdmit(entry))
        {
            entry.Abort("The listener has reached its limit of connections.");
            return;
        }

        _watch.Start();
        try
        {
            await next(connection).ConfigureAwait(false);
        }
        finally
        {
            Remove(entry);
        }
    };

    public void Dispose() => _watch.Dispose();

    private bool TryAdmit(HttpConnection entry)
    {
        lock (_admission)
        {
            if (!_quota.TryEnter(entry.Address)
                && !(MakeRoom(entry.Address) && _quota.TryEnter(entry.Address)))
            {
                return false;
            }

            if (Count >= _limits.MaxConnections && !MakeRoom(address: null))
            {
                _quota.Leave(entry.Address);
                return false;
            }

            Interlocked.Increment(ref _count);
            _open.TryAdd(entry, true);
            return true;
        }
    }

    // Closes the connection that waits for its client the longest: of this address, or of any.
    private bool MakeRoom(IPAddress? address)
    {
        long now = Environment.TickCount64;
        while (_open.Keys
            .Where(entry => address is null || address.Equals(entry.Address))
            .MaxBy(entry => entry.Spare(now)) is { } spare && spare.Spare(now) > 0)
        {
            if (spare.TryGiveUp(now))
            {
                Remove(spare);
                return true;
            }
        }

        return false;
    }

    private void Remove(HttpConnection entry)
    {
        if (_open.TryRemove(entry, out _))
        {
            Interlocked.Decrement(ref _count);
            _quota.Leave(entry.Address);
        }
    }

    private void Look(long now)
    {
        foreach ((HttpConnection entry, _) in _open)
        {
            if (_limits.BindTimeout != Timeout.InfiniteTimeSpan
                && entry.IsSilent(now, _limits.BindTimeout + KestrelDelay))
            {
                entry.Abort("No request came.");
            }
            else
            {
                entry.LookForEnd(now);
            }
        }
    }
}
