using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Neutralizes the records of handlers before they are shown. Handlers write text from callers, so
/// control characters are replaced by their numbers. The colours of Write-Host are kept.</summary>
internal static class NeutralRecord
{
    /// <summary>The record itself, or a copy without control characters in its text.</summary>
    public static object Of(object record)
    {
        switch (record)
        {
            case WarningRecord warning when IsChanged(warning.Message, out string text):
                return new WarningRecord(warning.FullyQualifiedWarningId, text);
            case VerboseRecord verbose when IsChanged(verbose.Message, out string text):
                return new VerboseRecord(text);
            case DebugRecord debug when IsChanged(debug.Message, out string text):
                return new DebugRecord(text);
            case InformationRecord information:
                return Of(information);
            case ErrorRecord error:
                return Of(error);
            default:
                return record;
        }
    }

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
    private static ErrorRecord Of(ErrorRecord record)
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

    private static InformationRecord Of(InformationRecord record) =>
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
