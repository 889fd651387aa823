using System.Globalization;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

/// <summary>A call that its handler failed for the caller, by throwing an <see cref="RpcException"/>, or that
/// the listener rejected because of the caller. The listener's information records contain it as
/// MessageData.</summary>
public sealed class RpcHandlerFailure
{
    // Longer texts are cut in the line, because callers may decide what a handler writes.
    private const int MaxLineLength = 1000;

    internal RpcHandlerFailure(
        DateTimeOffset time, string method, string caller, RpcStatusCode status, string message)
    {
        Time = time;
        Method = method;
        Caller = TerminalText.Neutralize(caller);
        Status = status;
        Message = TerminalText.Neutralize(message);
    }

    /// <summary>When the call failed.</summary>
    public DateTimeOffset Time { get; }

    /// <summary>The full name of the method; the interface id of a raw call.</summary>
    public string Method { get; }

    /// <summary>The name and address of the caller, if they are known.</summary>
    public string Caller { get; }

    /// <summary>The status that the handler sent.</summary>
    public RpcStatusCode Status { get; }

    /// <summary>The text that the handler sent.</summary>
    public string Message { get; }

    /// <inheritdoc/>
    public override string ToString() =>
        $"{FailureRecord.Format(Time)} {Method} failed{FailureRecord.For(Caller)} with {Status}: "
        + TerminalText.OneLine(Message, MaxLineLength);
}

/// <summary>Makes the listener's record of a failed call: information if the handler failed it for the
/// caller, otherwise an error with the line of the handler.</summary>
internal static class FailureRecord
{
    private const string MethodMember = "Method";

    // The trace of a one-line block at the prompt, which contains no information.
    private const string OnlyFrame = "at <ScriptBlock>, <No file>: line 1";

    // PowerShell shows this before the text, which begins with time and method.
    private const string Activity = "Handler";

    /// <summary>The record of a call of a method. An error has the text that remote callers do not get, and
    /// the id that they get.</summary>
    public static object Create(RpcFailedCall failed)
    {
        DateTimeOffset time = DateTimeOffset.Now;
        string method = failed.Context?.Method.FullName ?? "A call";
        string caller = failed.Context is { } context ? CallerOf(context) : "";
        bool isOfCaller = failed.Context?.Refusal is { } refusal && ReferenceEquals(failed.Error, refusal);
        return failed.CorrelationId is null && (isOfCaller || IsForCaller(failed.Error))
            ? ToInformation(new(time, method, caller, failed.Code, failed.Error.Message))
            : ToError(failed.Error, failed.CorrelationId, time, method, caller);
    }

    /// <summary>The record of a raw call. The caller only gets a return code.</summary>
    public static object Create(RpcRawContext context, Exception error)
    {
        DateTimeOffset time = DateTimeOffset.Now;
        string method = context.InterfaceId.ToString();
        string caller = CallerOf(context);
        if (IsForCaller(error))
        {
            return ToInformation(new(time, method, caller, ((RpcException)error).Code, error.Message));
        }

        ErrorRecord record = ToError(
            HandlerReply.RecordOf(error), error, RpcErrorIds.RawHandlerFailed, context.InterfaceId,
            $"{Format(time)} {method} failed{For(caller)} with {error.GetType().FullName}: {error.Message}");
        PSObject.AsPSObject(record).Properties.Add(new PSNoteProperty(MethodMember, method));
        return record;
    }

    /// <summary>The record of an error that a script wrote and went on, with its method, caller, time and
    /// place. A copy without the script's invocation: the shell shows nothing for one of another
    /// runspace.</summary>
    /// <param name="written">The error.</param>
    /// <param name="context">The context of the call that runs; null for none.</param>
    public static ErrorRecord OfWritten(ErrorRecord written, RpcPeerContext? context) =>
        OfWritten(written, MethodOf(context), context is null ? "" : CallerOf(context));

    /// <inheritdoc cref="OfWritten(ErrorRecord, RpcPeerContext?)"/>
    public static ErrorRecord OfWritten(ErrorRecord written, string method, string caller)
    {
        DateTimeOffset time = DateTimeOffset.Now;
        string text = $"{Format(time)} {method} wrote an error{For(caller)}: {written}";
        string stack = written.ScriptStackTrace ?? "";
        ErrorRecord record = new(written, written.Exception)
        {
            ErrorDetails = new(TextWith(stack, text))
            {
                RecommendedAction = written.ErrorDetails?.RecommendedAction,
            },
        };
        ForgetInvocation(record);
        AddMembers(record, time, method, caller, stack);
        return record;
    }

    /// <summary>Whether a record is one of this class, with a line of the handler or none.</summary>
    public static bool IsOf(ErrorRecord record) =>
        PSObject.AsPSObject(record).Properties[MethodMember] is not null;

    /// <summary>The record of a check that failed. Callers only see that authentication failed.</summary>
    /// <param name="failure">The failure.</param>
    /// <param name="check">The parameter of the check.</param>
    /// <param name="caller">The name that the caller presented.</param>
    public static ErrorRecord Create(Exception failure, string check, string caller) =>
        ToError(failure, correlationId: null, DateTimeOffset.Now, check, caller);

    /// <summary>A time in a record's text. Local, because the other lines of a console are.</summary>
    public static string Format(DateTimeOffset time) =>
        time.ToLocalTime().ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture);

    /// <summary>The caller in a record's text.</summary>
    public static string For(string caller) => caller.Length > 0 ? $" for {caller}" : "";

    // throw 'text' is also sent to the caller, but scripts use it for unexpected failures, so it is an error.
    private static bool IsForCaller(Exception error) =>
        error is RpcException rpc
        && (rpc.IsOfCaller
            || ((!rpc.IsByProtoRpc || rpc.IsForwarded) && rpc.ErrorId != RpcErrorIds.HandlerThrew));

    private static InformationRecord ToInformation(RpcHandlerFailure failure) =>
        new(failure, "ProtoRpc") { TimeGenerated = failure.Time.LocalDateTime };

    private static ErrorRecord ToError(
        Exception error, string? correlationId, DateTimeOffset time, string method, string caller)
    {
        ErrorRecord? thrown = HandlerReply.RecordOf(error);
        string id = correlationId is null ? "" : $" (id {correlationId})";
        ErrorRecord record = ToError(
            thrown, error, RpcErrorIds.HandlerFailed, target: null,
            $"{Format(time)} {method} failed{For(caller)} with {error.GetType().FullName}: "
            + $"{error.Message}{id}");
        record.CategoryInfo.TargetName = caller;
        string? stack = HandlerReply.PlaceOf(error) is { Length: > 0 } script
            ? script
            : error.StackTrace;
        AddMembers(record, time, method, caller, stack);
        PSObject.AsPSObject(record).Properties.Add(
            new PSNoteProperty("CorrelationId", correlationId));
        return record;
    }

    private static void AddMembers(
        ErrorRecord record, DateTimeOffset time, string method, string caller, string? stack)
    {
        record.CategoryInfo.Activity = Activity;
        PSObject members = PSObject.AsPSObject(record);
        members.Properties.Add(new PSNoteProperty("Time", time));
        members.Properties.Add(new PSNoteProperty(MethodMember, method));
        members.Properties.Add(new PSNoteProperty("Caller", TerminalText.Neutralize(caller)));
        members.Properties.Add(new PSNoteProperty("Stack", TerminalText.Neutralize(stack)));
    }

    private static string MethodOf(RpcPeerContext? context) => context switch
    {
        RpcServerCallContext call => call.Method.FullName,
        RpcRawContext raw => raw.InterfaceId.ToString(),
        _ => "A script",
    };

    // The copy of a script's record keeps the script's line. The exception may contain text from the caller,
    // and a terminal would execute its escape sequences.
    private static ErrorRecord ToError(
        ErrorRecord? thrown, Exception error, string errorId, object? target, string text)
    {
        ErrorRecord record = thrown is null
            ? new ErrorRecord(error, errorId, ErrorCategory.NotSpecified, target)
            : new ErrorRecord(thrown, error);
        string stack = HandlerReply.PlaceOf(error) is var place and not OnlyFrame ? place : "";
        record.ErrorDetails = new System.Management.Automation.ErrorDetails(TextWith(stack, text));
        return record;
    }

    private static string TextWith(string stack, string text) =>
        TerminalText.Neutralize(stack.Length == 0 ? text : $"{text}\n{stack}");

    private static void ForgetInvocation(ErrorRecord record)
    {
        try
        {
            InvocationOf(record) = null;
        }
        catch (MissingFieldException)
        {
            // The field is not public, and another version of the shell may not have it.
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_invocationInfo")]
    private static extern ref InvocationInfo? InvocationOf(ErrorRecord record);

    private static string CallerOf(RpcPeerContext context)
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
