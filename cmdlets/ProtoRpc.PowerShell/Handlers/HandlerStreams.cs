using System.Diagnostics.CodeAnalysis;
using System.Management.Automation;
using System.Management.Automation.Host;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>What handlers write to their streams:
/// shown immediately in the host, or kept until it is received.</summary>
internal sealed class HandlerStreams(PSHost host, Func<object, bool> showsAtOnce)
{
    // The oldest are dropped, so that a listener whose records are not received does not grow.
    private const int Capacity = 1000;

    private readonly Lock _gate = new();
    private readonly Queue<object> _kept = [];

    /// <summary>Raised after a record was kept.</summary>
    public event Action? Added;

    /// <summary>Records that wait to be received.</summary>
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

    /// <summary>Records that were dropped because they were not received.</summary>
    public long Dropped { get; private set; }

    /// <summary>The last record, as text.</summary>
    public string Last { get; private set; } = "";

    /// <summary>Takes over the records of a pipeline as they come.</summary>
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

    /// <summary>The kept records, oldest first; they stay here.</summary>
    public IReadOnlyList<object> Peek()
    {
        lock (_gate)
        {
            return [.. _kept];
        }
    }

    /// <summary>The records that are kept now, oldest first. Each is gone from here when it is handed out, so
    /// that one at which the caller ends leaves the rest for the next time.</summary>
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
