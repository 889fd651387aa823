using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A failed call in the listener's records.</summary>
internal static class HandlerFailure
{
    /// <summary>The failed method, the caller, the error text that remote callers do not get, and the id that
    /// they get.</summary>
    public static ErrorRecord ToRecord(RpcFailedCall failed)
    {
        string method = failed.Context?.Method.FullName ?? "A call";
        string caller = failed.Context is { } context ? CallerOf(context) : "";
        ErrorRecord? thrown = HandlerReply.RecordOf(failed.Error);
        string stack = thrown?.ScriptStackTrace ?? "";

        // The copy keeps the script's line number.
        ErrorRecord record = thrown is null
            ? new ErrorRecord(
                failed.Error, RpcErrorIds.HandlerFailed, ErrorCategory.NotSpecified, targetObject: null)
            : new ErrorRecord(thrown, failed.Error);
        record.CategoryInfo.Activity = method;
        record.CategoryInfo.TargetName = caller;
        // The exception may contain text from the caller, and a terminal would execute its escape sequences.
        record.ErrorDetails = new System.Management.Automation.ErrorDetails(
            TerminalText.Neutralize(TextOf(failed, method, caller, stack)));

        PSObject members = PSObject.AsPSObject(record);
        members.Properties.Add(new PSNoteProperty("Method", method));
        members.Properties.Add(new PSNoteProperty("Caller", TerminalText.Neutralize(caller)));
        members.Properties.Add(new PSNoteProperty("CorrelationId", failed.CorrelationId));
        members.Properties.Add(new PSNoteProperty(
            "Stack", TerminalText.Neutralize(stack.Length > 0 ? stack : failed.Error.StackTrace)));
        return record;
    }

    /// <summary>The record of a check that failed. Callers only see that authentication failed.</summary>
    public static ErrorRecord ToRecord(RuntimeException failure, string authenticationType)
    {
        string stack = failure.ErrorRecord.ScriptStackTrace ?? "";
        string text =
            $"The {authenticationType} check failed with {failure.GetType().FullName}: {failure.Message}";
        return new ErrorRecord(failure.ErrorRecord, failure)
        {
            ErrorDetails = new(TerminalText.Neutralize(stack.Length == 0 ? text : $"{text}\n{stack}")),
        };
    }

    private static string TextOf(RpcFailedCall failed, string method, string caller, string stack)
    {
        string by = caller.Length > 0 ? $" for {caller}" : "";
        string id = failed.CorrelationId is null ? "" : $" (id {failed.CorrelationId})";
        string text =
            $"{method} failed{by} with {failed.Error.GetType().FullName}: {failed.Error.Message}{id}";
        return stack.Length == 0 ? text : $"{text}\n{stack}";
    }

    private static string CallerOf(RpcServerCallContext context)
    {
        string name = context.User.Name ?? "";
        return (name.Length, context.ClientAddress.Length) switch
        {
            (0, 0) => "an anonymous caller",
            (0, _) => context.ClientAddress,
            (_, 0) => name,
            _ => $"{name} at {context.ClientAddress}",
        };
    }
}
