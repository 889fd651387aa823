using System.Diagnostics.CodeAnalysis;
using System.Management.Automation;
using System.Management.Automation.Host;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Receives what handlers write to their streams. A record is shown immediately in the host, or kept
/// until it is received.</summary>
internal sealed class HandlerStreams(PSHost host, Func<object, bool> showsAtOnce)
{
    // The oldest records are dropped, so that a listener whose records are not received does not use more and
    // more memory.
    private const int Capacity = 1000;

    private readonly Lock _gate = new();
    private readonly Queue<object> _kept = [];

    /// <summary>Raised after a record is kept.</summary>
    public event Action? Added;

    /// <summary>The number of records that can be received.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _kept.Count;
            }
        }
    }

    /// <summary>The number of records that were dropped before they were received.</summary>
    public long Dropped { get; private set; }

    /// <summary>The last record, as text.</summary>
    public string Last { get; private set; } = "";

    /// <summary>Receives the records of a pipeline as it writes them.</summary>
    public void Attach(PSDataStreams streams)
    {
        Attach(streams.Error);
        Attach(streams.Warning);
        Attach(streams.Verbose);
        Attach(streams.Debug);
        Attach(streams.Information);
    }

    public void Add(object record)
    {
        record = NeutralRecord.Of(record);
        Last = record.ToString() ?? "";
        if (showsAtOnce(record))
        {
            Show(record);
            return;
        }

        lock (_gate)
        {
            if (_kept.Count == Capacity)
            {
                _kept.Dequeue();
                Dropped++;
            }

            _kept.Enqueue(record);
        }

        Added?.Invoke();
    }

    /// <summary>The kept records, oldest first, without removing them.</summary>
    public IReadOnlyList<object> Peek()
    {
        lock (_gate)
        {
            return [.. _kept];
        }
    }

    /// <summary>Removes and returns the kept records, oldest first. Each record is removed when it is
    /// returned, so a caller that stops early leaves the rest.</summary>
    public IEnumerable<object> Take()
    {
        for (int left = Count; left > 0 && TryTake(out object? record); left--)
        {
            yield return record;
        }
    }

    private bool TryTake([NotNullWhen(true)] out object? record)
    {
        lock (_gate)
        {
            return _kept.TryDequeue(out record);
        }
    }

    private void Attach<T>(PSDataCollection<T> records)
        where T : notnull => records.DataAdded += (_, _) =>
    {
        foreach (T record in records.ReadAll())
        {
            Add(record);
        }
    };

    private void Show(object record)
    {
        switch (record)
        {
            case WarningRecord warning:
                host.UI.WriteWarningLine(warning.Message);
                break;
            case VerboseRecord verbose:
                host.UI.WriteVerboseLine(verbose.Message);
                break;
            case DebugRecord debug:
                host.UI.WriteDebugLine(debug.Message);
                break;
            default:
                host.UI.WriteLine(record.ToString());
                break;
        }
    }
}
