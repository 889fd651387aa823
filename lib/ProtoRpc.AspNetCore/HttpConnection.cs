using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore;

/// <summary>An open connection of an endpoint on Kestrel, and its state.</summary>
internal sealed class HttpConnection : ISpareConnection
{
    private static readonly object Key = new();
    private static readonly TimeSpan SpareAfter = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LookAfter = TimeSpan.FromMilliseconds(100);
    private const int Questions = 3;
    private const int Looks = 2;

    private readonly Lock _gate = new();
    private readonly ConnectionContext _connection;
    private long _since = Environment.TickCount64;
    private int _running;
    private HttpContext? _watched;
    private int _ends;
    private bool _hadRequest;
    private bool _isGivenUp;

    public HttpConnection(ConnectionContext connection)
    {
        _connection = connection;
        Address = AddressQuota.KeyOf(connection.RemoteEndPoint);

        // Added now, because requests of HTTP/2 run in parallel and the table is not thread-safe.
        connection.Items[Key] = this;
        ConnectionPeer.AddTo(connection.Items);
    }

    /// <summary>The key in the quota of addresses; null on Unix sockets.</summary>
    public IPAddress? Address { get; }

    /// <summary>Whether a client was authenticated on the connection.</summary>
    public bool IsKnown { get; set; }

    public static HttpConnection From(HttpContext http) =>
        (HttpConnection)http.Features.GetRequiredFeature<IConnectionItemsFeature>().Items[Key]!;

    /// <summary>Marks the connection of a request as authenticated, if it belongs to one of the server's own
    /// endpoints.</summary>
    public static void SetKnown(HttpContext http, bool isKnown)
    {
        if (http.Features.Get<IConnectionItemsFeature>()?.Items.TryGetValue(Key, out object? connection)
            == true)
        {
            ((HttpConnection)connection!).IsKnown = isKnown;
        }
    }

    /// <summary>Marks the begin of a request.</summary>
    /// <param name="watched">The request, where its handler can keep Kestrel from seeing that the client has
    /// disconnected, and no other runs on the connection; else null.</param>
    /// <returns>False if the connection is being closed, so that the request must not run.</returns>
    public bool TryBegin(HttpContext? watched)
    {
        lock (_gate)
        {
            _hadRequest = true;
            _running++;
            _watched = watched;
            _ends = 0;
            _since = Environment.TickCount64;
            return !_isGivenUp;
        }
    }

    /// <summary>Marks the end of a request.</summary>
    public void End()
    {
        lock (_gate)
        {
            _running--;
            _watched = null;
            _since = Environment.TickCount64;
        }
    }

    /// <summary>Cancels a watched request whose client has disconnected. Kestrel does that itself, unless the
    /// handler blocks the thread that reads from the connection.</summary>
    /// <param name="now">Milliseconds of the system's uptime.</param>
    public void LookForEnd(long now)
    {
        lock (_gate)
        {
            if (_watched is not { } request || now - _since <= LookAfter.TotalMilliseconds)
            {
                return;
            }

            // Poll and Available are two calls, and Kestrel may read between them. That is unlikely several
            // times in a row.
            _ends = Enumerable.Range(0, Questions).All(_ => HasEnded()) ? _ends + 1 : 0;
            if (_ends == Looks)
            {
                // Under the lock, so that no other request can begin.
                request.Abort();
            }
        }
    }

    public long Spare(long now)
    {
        lock (_gate)
        {
            long waited = now - _since;
            return _running == 0 && !IsKnown && !_isGivenUp && waited >= SpareAfter.TotalMilliseconds
                ? waited
                : 0;
        }
    }

    /// <summary>Whether no request has arrived since the connection was opened.</summary>
    public bool IsSilent(long now, TimeSpan time)
    {
        lock (_gate)
        {
            return !_hadRequest && now - _since > time.TotalMilliseconds;
        }
    }

    public bool TryGiveUp(long now)
    {
        lock (_gate)
        {
            if (Spare(now) == 0)
            {
                return false;
            }

            _isGivenUp = true;
        }

        Abort("The listener needs room for other connections.");
        return true;
    }

    // Bytes before the end may be another request, which is read first.
    private bool HasEnded()
    {
        try
        {
            return _connection.Features.Get<IConnectionSocketFeature>() is { Socket: { } socket }
                && socket.Poll(TimeSpan.Zero, SelectMode.SelectRead) && socket.Available == 0;
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            return true;
        }
    }

    public void Abort(string why) => _connection.Abort(new ConnectionAbortedException(why));
}

/// <summary>The open connections of an endpoint on Kestrel. Connections without a request are closed after a
/// time. At the limit, the connection that has been idle the longest is closed.</summary>
/// <remarks>Kestrel itself treats a connection that never sends a request like one that is idle between two
/// requests.</remarks>
internal sealed class HttpConnections : IDisposable
{
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(250);

    // Kestrel replies to an incomplete request with 408 after its timeout. It checks once a second and adds a
    // second, and a busy machine needs longer.
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
            if (!_quota.TryAdmit(
                entry.Address, () => Count >= _limits.MaxConnections, _open.Select(open => open.Key), Remove))
            {
                return false;
            }

            Interlocked.Increment(ref _count);
            _open.TryAdd(entry, true);
            return true;
        }
    }

    private void Remove(HttpConnection entry)
    {
        if (_open.TryRemove(entry, out _))
        {
            Interlocked.Decrement(ref _count);
            _quota.Leave(entry.Address);
        }
    }

    private static TimeSpan Shorter(TimeSpan one, TimeSpan other) =>
        one == Timeout.InfiniteTimeSpan || (other != Timeout.InfiniteTimeSpan && other < one) ? other : one;

    private void Look(long now)
    {
        TimeSpan patience = Shorter(_limits.BindTimeout, _limits.IdleTimeout);
        foreach ((HttpConnection entry, _) in _open)
        {
            if (patience != Timeout.InfiniteTimeSpan && entry.IsSilent(now, patience + KestrelDelay))
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

/// <summary>The activity of an HTTP request.</summary>
internal static class HttpActivity
{
    /// <summary>The parent of a call's activity: the activity that the application began for the request or,
    /// on the server's own endpoints, the one in the headers.</summary>
    public static ActivityContext ParentOf(HttpContext http)
    {
        // ASP.NET Core also makes an activity for each request if only its log is on. Such an activity has no
        // source and is never exported. As the parent, it would make OpenTelemetry leave out the call.
        if (http.Features.Get<IHttpActivityFeature>()?.Activity is { Source.Name.Length: > 0 } activity)
        {
            return activity.Context;
        }

        IHeaderDictionary headers = http.Request.Headers;
        return TraceContext.Read(headers.TraceParent, headers.TraceState);
    }
}
