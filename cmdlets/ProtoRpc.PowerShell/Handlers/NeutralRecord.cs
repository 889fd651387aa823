using System.Management.Automation;

namespace ProtoRpc.PowerShell;

/// <summary>The records of handlers for the terminal of who runs the listener: handlers write what callers send, so
/// control characters are written by their number. Colours of Write-Host's parameters stay.</summary>
internal static class NeutralRecord
{
    /// <summary>The record, or a copy without control characters in its text.</summary>
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
            case ErrorRecord error when IsChanged(error.ToString(), out string text):
                error.ErrorDetails = new System.Management.Automation.ErrorDetails(text)
                {
                    RecommendedAction = error.ErrorDetails?.RecommendedAction,
                };
                return error;
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
            _ => record,
        };

    private static bool IsChanged(string? text, out string neutral)
    {
        neutral = TerminalText.Neutralize(text);
        return !string.IsNullOrEmpty(text) && !ReferenceEquals(text, neutral);
    }
}
