using System.Diagnostics.CodeAnalysis;
using System.Management.Automation.Host;
using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Receives the records that handlers write to their streams. A record is shown immediately in the
/// host, or kept until a cmdlet receives it.</summary>
internal sealed class HandlerStreams(PSHost host, Func<object, bool> showsAtOnce)
{
    // The oldest records are dropped, so that a listener whose records are not received does not use more and
    // more memory.
    private const int Capacity = 1000;

    private readonly Lock _gate = new();
    private readonly Queue<object> _kept = [];

    // The session to whose transcripts shown records are added.
    private readonly Runspace? _session = Runspace.DefaultRunspace;

    /// <summary>Whether information is neither shown nor kept, as with
    /// <c>-InformationAction Ignore</c>.</summary>
    public bool IgnoresInformation { get; init; }

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
    /// <param name="streams">The streams of the pipeline.</param>
    /// <param name="ofError">Makes the record of an error that a script writes.</param>
    public void Attach(PSDataStreams streams, Func<ErrorRecord, ErrorRecord> ofError)
    {
        Attach(streams.Error, ofError);
        Attach(streams.Warning);
        Attach(streams.Verbose);
        Attach(streams.Debug);
        Attach(streams.Information);
    }

    public void Add(object record)
    {
        if (record is InformationRecord && IgnoresInformation)
        {
            return;
        }

        record = RecordTime.Add(NeutralRecord.Create(record));
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

    private void Attach<T>(PSDataCollection<T> records, Func<T, T>? change = null)
        where T : notnull => records.DataAdded += (_, _) =>
    {
        foreach (T record in records.ReadAll())
        {
            Add(change is null ? record : change(record));
        }
    };

    private void Show(object record)
    {
        switch (record)
        {
            case WarningRecord warning:
                host.UI.WriteWarningLine(warning.Message);
                Transcribe($"WARNING: {warning.Message}");
                break;
            case VerboseRecord verbose:
                host.UI.WriteVerboseLine(verbose.Message);
                Transcribe($"VERBOSE: {verbose.Message}");
                break;
            case DebugRecord debug:
                host.UI.WriteDebugLine(debug.Message);
                Transcribe($"DEBUG: {debug.Message}");
                break;
            default:
                string text = record.ToString() ?? "";
                host.UI.WriteLine(text);
                Transcribe(text);
                break;
        }
    }

    // The host does not add these lines to transcripts: commands of the shell do. The shell takes the
    // transcripts of the thread's session, and a worker's session has none.
    private void Transcribe(string line)
    {
        Runspace? own = Runspace.DefaultRunspace;
        Runspace.DefaultRunspace = _session;
        try
        {
            TranscribeResult(host.UI, line);
        }
        catch (MissingMethodException)
        {
            // The method is not public, and another version of the shell may not have it.
        }
        finally
        {
            Runspace.DefaultRunspace = own;
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method)]
    private static extern void TranscribeResult(PSHostUserInterface ui, string line);
}

/// <summary>The property Time of records, for the streams whose records have none in PowerShell.</summary>
internal static class RecordTime
{
    private const string Name = "Time";

    /// <summary>Adds the current time to a record without a time.</summary>
    /// <returns>The record itself.</returns>
    public static object Add(object record)
    {
        PSMemberInfoCollection<PSPropertyInfo> members = PSObject.AsPSObject(record).Properties;
        if (members[Name] is null)
        {
            DateTimeOffset time = record is InformationRecord information
                ? information.TimeGenerated
                : DateTimeOffset.Now;
            members.Add(new PSNoteProperty(Name, time));
        }

        return record;
    }
}

/// <summary>Neutralizes the records of handlers before they are shown. Handlers write text from callers, so
/// control characters are replaced by their numbers. The colours of Write-Host are kept.</summary>
internal static class NeutralRecord
{
    /// <summary>The record itself, or a copy without control characters in its text.</summary>
    public static object Create(object record) => record switch
    {
        WarningRecord warning when IsChanged(warning.Message, out string text) =>
            new WarningRecord(warning.FullyQualifiedWarningId, text),
        VerboseRecord verbose when IsChanged(verbose.Message, out string text) => new VerboseRecord(text),
        DebugRecord debug when IsChanged(debug.Message, out string text) => new DebugRecord(text),
        InformationRecord information => Create(information),
        ErrorRecord error => Create(error),
        _ => record,
    };

    /// <summary>A copy of a record with other data.</summary>
    public static InformationRecord Copy(InformationRecord record, object data)
    {
        InformationRecord copy = new(data, record.Source)
        {
            TimeGenerated = record.TimeGenerated,
            User = record.User,
            Computer = record.Computer,
            ProcessId = record.ProcessId,
            NativeThreadId = record.NativeThreadId,
            ManagedThreadId = record.ManagedThreadId,
        };
        copy.Tags.AddRange(record.Tags);
        return copy;
    }

    // Only the parts that the shell's views show. The exception and the target object are not changed.
    private static ErrorRecord Create(ErrorRecord record)
    {
        // A script's `throw TEXT` makes the text the error id, which is read-only. The id can only be
        // replaced in a new record.
        ErrorRecord neutral = IsChanged(record.FullyQualifiedErrorId, out string id)
            ? new(record.Exception, id, record.CategoryInfo.Category, record.TargetObject)
            : record;
        if (!ReferenceEquals(neutral, record))
        {
            CopyMembers(record, neutral);
        }

        if (IsChanged(record.ToString(), out string text) || !ReferenceEquals(neutral, record))
        {
            neutral.ErrorDetails = new System.Management.Automation.ErrorDetails(text)
            {
                RecommendedAction = record.ErrorDetails?.RecommendedAction,
            };
        }

        ErrorCategoryInfo category = neutral.CategoryInfo;
        category.Activity = TerminalText.Neutralize(record.CategoryInfo.Activity);
        category.Reason = TerminalText.Neutralize(record.CategoryInfo.Reason);
        category.TargetName = TerminalText.Neutralize(record.CategoryInfo.TargetName);
        category.TargetType = TerminalText.Neutralize(record.CategoryInfo.TargetType);
        return neutral;
    }

    private static void CopyMembers(ErrorRecord from, ErrorRecord to)
    {
        PSObject members = PSObject.AsPSObject(to);
        foreach (PSNoteProperty member in PSObject.AsPSObject(from).Properties.OfType<PSNoteProperty>())
        {
            members.Properties.Add(new PSNoteProperty(member.Name, member.Value));
        }
    }

    private static InformationRecord Create(InformationRecord record) =>
        (record.MessageData is PSObject wrapped ? wrapped.BaseObject : record.MessageData) switch
        {
            string message when IsChanged(message, out string text) => Copy(record, text),
            HostInformationMessage host when IsChanged(host.Message, out string text) => Copy(
                record,
                new HostInformationMessage
                {
                    Message = text,
                    NoNewLine = host.NoNewLine,
                    ForegroundColor = host.ForegroundColor,
                    BackgroundColor = host.BackgroundColor,
                }),
            // The shell shows other objects as their text.
            { } other when IsChanged(other.ToString(), out _)
                || IsChanged(record.MessageData.ToString(), out _) =>
                Copy(record, TerminalText.Neutralize(record.MessageData.ToString())),
            _ => record,
        };

    private static bool IsChanged(string? text, out string neutral)
    {
        neutral = TerminalText.Neutralize(text);
        return !string.IsNullOrEmpty(text) && !ReferenceEquals(text, neutral);
    }
}
