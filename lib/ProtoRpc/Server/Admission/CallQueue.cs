using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace ProtoRpc.Server.Admission;

/// <summary>Calls that wait for others to end. Clients take turns, however many calls each of them has
/// here.</summary>
/// <remarks>
/// <para>When the queue is full, a call displaces the last call of the client with the most waiting calls,
/// if that client has at least twice as many. So a client that floods the server cannot keep others
/// out.</para>
/// <para>A call that would wait for longer than it may is refused at once, because a late refusal helps
/// nobody.</para>
/// <para>Not thread-safe.</para>
/// </remarks>
/// <param name="maxCalls">The most calls that wait.</param>
/// <param name="maxWait">The longest time that a call waits; InfiniteTimeSpan for no bound.</param>
internal sealed class CallQueue<TCall>(int maxCalls, TimeSpan maxWait)
    where TCall : class
{
    private readonly Dictionary<object, Line> _lines = [];

    // The lines with calls, in the order of their turns.
    private readonly LinkedList<Line> _turns = [];
    private readonly CallPace _pace = new();

    /// <summary>The calls that wait.</summary>
    public int Count { get; private set; }

    /// <summary>Whether a call of a client would be taken now.</summary>
    /// <param name="client">Whose call it is; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="left">The time until its caller gives up; null for no such time.</param>
    public bool HasRoom(object client, TimeSpan? left) =>
        (Count < maxCalls || Longest(client) is not null)
        && IsSoon(client, left, Stopwatch.GetTimestamp());

    /// <summary>Takes a call, if there is room and its turn comes in time.</summary>
    /// <param name="client">Whose call it is; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="call">The call.</param>
    /// <param name="left">The time until its caller gives up; null for no such time.</param>
    /// <param name="displaced">The call that makes room for it and no longer waits; null for none.</param>
    /// <returns>Its place; null for a call that is refused.</returns>
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

    /// <summary>Takes a call without regard to the bounds.</summary>
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

    /// <summary>Takes the next call out, for its turn has come.</summary>
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

    /// <summary>Takes a call out that has waited for as long as it may.</summary>
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

    /// <summary>Takes a call out that no longer waits.</summary>
    /// <returns>False if it is out already.</returns>
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

    /// <summary>Takes all calls out.</summary>
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

    // The line whose last call gives way to a call of the client; null where no line is twice as long as the
    // client's would be. Clients that are about equal do not displace each other, so that calls once taken
    // are rarely refused.
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

    // With nobody ahead there is a turn to measure again, however slow the last ones were.
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

    /// <summary>Where a call waits.</summary>
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
