using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace ProtoRpc.Server.Admission;

/// <summary>A queue of calls. Clients take turns, however many waiting calls each of them has.</summary>
/// <remarks>
/// <para>When the queue is full, a call displaces the last call of the client with the most waiting calls,
/// if that client has at least twice as many. So a client that floods the server cannot keep others
/// out.</para>
/// <para>A call is rejected immediately if its expected wait is too long, because a late rejection does not
/// help the caller.</para>
/// <para>Not thread-safe.</para>
/// </remarks>
/// <param name="maxCalls">The maximum number of waiting calls.</param>
/// <param name="maxWait">The maximum time of waiting; InfiniteTimeSpan for no limit.</param>
internal sealed class CallQueue<TCall>(int maxCalls, TimeSpan maxWait)
    where TCall : class
{
    private readonly Dictionary<object, Line> _lines = [];

    // The lines that contain calls, in the order of their turns.
    private readonly LinkedList<Line> _turns = [];
    private readonly CallPace _pace = new();

    /// <summary>The number of waiting calls.</summary>
    public int Count { get; private set; }

    /// <summary>Whether a call of a client would be accepted now.</summary>
    /// <param name="client">The client; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="left">The time until the call's deadline; null for none.</param>
    public bool HasRoom(object client, TimeSpan? left) =>
        (Count < maxCalls || Longest(client) is not null)
        && IsSoon(client, left, Stopwatch.GetTimestamp());

    /// <summary>Adds a call, if there is room and its turn comes in time.</summary>
    /// <param name="client">The client; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="call">The call.</param>
    /// <param name="left">The time until the call's deadline; null for none.</param>
    /// <param name="displaced">The call that was removed to make room; null for none.</param>
    /// <returns>The call's place; null if it is rejected.</returns>
    public Place? TryAdd(object client, TCall call, TimeSpan? left, out TCall? displaced)
    {
        displaced = null;
        long now = Stopwatch.GetTimestamp();
        if (!IsSoon(client, left, now))
        {
            return null;
        }

        if (Count >= maxCalls)
        {
            if (Longest(client)?.Calls.Last is not { } last)
            {
                return null;
            }

            displaced = last.Value.Call;
            Remove(last.Value);
        }

        return Add(client, call, now);
    }

    /// <summary>Adds a call, ignoring the limits.</summary>
    public Place Add(object client, TCall call) => Add(client, call, Stopwatch.GetTimestamp());

    private Place Add(object client, TCall call, long now)
    {
        if (!_lines.TryGetValue(client, out Line? line))
        {
            line = new Line(client);
            _lines.Add(client, line);
            _turns.AddLast(line.Turn);
        }

        if (Count == 0)
        {
            _pace.Resume(now);
        }

        Count++;
        return new Place(line, call, now);
    }

    /// <summary>Removes the next call, whose turn has come.</summary>
    public bool TryTake([NotNullWhen(true)] out TCall? call)
    {
        if (_turns.First?.Value is not { } line)
        {
            call = null;
            return false;
        }

        Place first = line.Calls.First!.Value;
        call = first.Call;
        Remove(first);
        if (line.Calls.Count > 0)
        {
            _turns.Remove(line.Turn);
            _turns.AddLast(line.Turn);
        }

        _pace.Count(Stopwatch.GetTimestamp());
        return true;
    }

    /// <summary>Removes a call that has waited for the maximum time.</summary>
    public bool TryTakeLate([NotNullWhen(true)] out TCall? call)
    {
        long now = Stopwatch.GetTimestamp();
        call = null;
        if (maxWait == Timeout.InfiniteTimeSpan)
        {
            return false;
        }

        foreach (Line line in _turns)
        {
            Place oldest = line.Calls.First!.Value;
            if (Stopwatch.GetElapsedTime(oldest.Since, now) > maxWait)
            {
                call = oldest.Call;
                Remove(oldest);
                return true;
            }
        }

        return false;
    }

    /// <summary>Removes a call that no longer waits.</summary>
    /// <returns>False if it was already removed.</returns>
    public bool Remove(Place? place)
    {
        if (place?.Node.List is null)
        {
            return false;
        }

        Line line = place.Line;
        line.Calls.Remove(place.Node);
        if (line.Calls.Count == 0)
        {
            _turns.Remove(line.Turn);
            _lines.Remove(line.Client);
        }

        if (--Count == 0)
        {
            _pace.Pause(Stopwatch.GetTimestamp());
        }

        return true;
    }

    /// <summary>Removes all calls.</summary>
    public TCall[] Clear()
    {
        TCall[] calls = [.. _turns.SelectMany(line => line.Calls).Select(place => place.Call)];
        foreach (Line line in _turns)
        {
            line.Calls.Clear();
        }

        _turns.Clear();
        _lines.Clear();
        Count = 0;
        _pace.Pause(Stopwatch.GetTimestamp());
        return calls;
    }

    // The line whose last call is displaced for a call of the client; null if no line is twice as long as the
    // client's would be. Clients with similar numbers of calls do not displace each other, so that accepted
    // calls are rarely rejected.
    private Line? Longest(object client)
    {
        int most = 2 * (CountOf(client) + 1);
        Line? longest = null;
        foreach (Line line in _turns)
        {
            if (line.Calls.Count >= most)
            {
                most = line.Calls.Count + 1;
                longest = line;
            }
        }

        return longest;
    }

    // If no call is ahead, this one is accepted however slow the last ones were, so that the pace is measured
    // again.
    private bool IsSoon(object client, TimeSpan? left, long now)
    {
        int mine = CountOf(client);
        int others = _turns.Count - (mine > 0 ? 1 : 0);
        int ahead = (int)Math.Min(Count, mine + ((mine + 1L) * others));
        if (ahead == 0)
        {
            return true;
        }

        TimeSpan wait = _pace.Expect(ahead, now);
        return (maxWait == Timeout.InfiniteTimeSpan || wait <= maxWait) && (left is null || wait <= left);
    }

    private int CountOf(object client) =>
        _lines.TryGetValue(client, out Line? line) ? line.Calls.Count : 0;

    /// <summary>The place of a waiting call.</summary>
    internal sealed class Place
    {
        internal Place(Line line, TCall call, long since)
        {
            Line = line;
            Call = call;
            Since = since;
            Node = line.Calls.AddLast(this);
        }

        internal Line Line { get; }

        internal TCall Call { get; }

        internal long Since { get; }

        internal LinkedListNode<Place> Node { get; }
    }

    /// <summary>The calls of a client.</summary>
    internal sealed class Line
    {
        internal Line(object client)
        {
            Client = client;
            Turn = new LinkedListNode<Line>(this);
        }

        internal object Client { get; }

        internal LinkedList<Place> Calls { get; } = [];

        internal LinkedListNode<Line> Turn { get; }
    }
}
