using System.Collections.ObjectModel;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Converts a handler's output to the reply, and its failure to an exception.</summary>
internal static class HandlerReply
{
    // With the error detail Full, callers get this entry of the exception's data.
    private const string ScriptStackTrace = "ScriptStackTrace";

    // A separate table, because callers may get the exception's data.
    private static readonly ConditionalWeakTable<Exception, ErrorRecord> Records = [];

    /// <summary>Converts a handler's output to the reply. No output is an empty message.</summary>
    /// <exception cref="RpcException">Internal: the handler wrote several objects, or an object that does not
    /// fit the reply's type.</exception>
    public static IMessage ToMessage(RpcMethodInfo method, Collection<PSObject> output)
    {
        PSObject? reply = null;
        int count = 0;
        foreach (PSObject? item in output)
        {
            if (item is not null)
            {
                reply = item;
                count++;
            }
        }

        if (count > 1)
        {
            throw Wrong(
                method, $"wrote {count} objects, but a reply is one object. Pipe other output to Out-Null, "
                + "or assign it to $null.", inner: null);
        }

        return ToMessage(method, reply);
    }

    /// <summary>Converts an object to the reply. Null is an empty message.</summary>
    /// <exception cref="RpcException">Internal: the object does not fit the reply's type.</exception>
    public static IMessage ToMessage(RpcMethodInfo method, PSObject? reply)
    {
        if (reply?.BaseObject is IMessage message)
        {
            return message;
        }

        try
        {
            return ShellMapper.Create(asHashtable: false).ToMessage(method.ReplyType, reply);
        }
        catch (RpcException e)
        {
            throw Wrong(method, $"did not return a message {method.ReplyType.FullName}: {e.Message}", e);
        }
    }

    /// <summary>Converts a handler's output to the bytes of the reply: one array, or single bytes. No output
    /// is an empty reply; null is no reply.</summary>
    /// <exception cref="RpcException">Internal: the output has an object that is not a byte.</exception>
    public static ReadOnlyMemory<byte>? BytesOf(Guid interfaceId, Collection<PSObject> output)
    {
        if (output.Count == 1)
        {
            if (output[0] is null)
            {
                return null;
            }

            if (output[0].BaseObject is byte[] whole)
            {
                return whole;
            }
        }

        try
        {
            // A pipeline unrolls arrays into single bytes, and scripts may write numbers such as 1, 2, 3.
            byte[] bytes = new byte[output.Count];
            for (int i = 0; i < bytes.Length; i++)
            {
                bytes[i] = output[i]?.BaseObject is byte single
                    ? single
                    : LanguagePrimitives.ConvertTo<byte>(output[i]);
            }

            return bytes;
        }
        catch (PSInvalidCastException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.WrongReply,
                $"The handler of interface {interfaceId} did not write bytes: {e.Message} Write one byte[], "
                + "and pipe other output to Out-Null.", e);
        }
    }

    /// <summary>The exception that a script raised, without the shell's wrappers. If one of the scripts
    /// itself throws a text, the text is meant for the caller and becomes an RpcException.</summary>
    /// <param name="exception">The exception that the pipeline raised.</param>
    /// <param name="scripts">The handlers and filters.</param>
    public static Exception Unwrap(Exception exception, IReadOnlyCollection<ScriptSource> scripts)
    {
        if (exception is ExitException or FlowControlException)
        {
            return new RpcException(
                RpcStatusCode.Unknown, RpcErrorIds.HandlerLeft,
                $"The script ended with '{WordOf(exception)}', which returns no result. Use return or throw.",
                exception);
        }

        string trace = "";
        ErrorRecord? thrown = null;
        while (true)
        {
            if (exception is IContainsErrorRecord { ErrorRecord: { } record })
            {
                trace = record.ScriptStackTrace ?? trace;
                thrown = record.ScriptStackTrace is null ? thrown : record;
                if (IsSaid(exception, record, scripts))
                {
                    return Said(exception, record);
                }

                if (exception is RuntimeException && !ReferenceEquals(record.Exception, exception)
                    && record.Exception is not ParentContainsErrorRecordException and not null)
                {
                    exception = record.Exception;
                    continue;
                }
            }

            if (exception is MethodInvocationException or CmdletInvocationException
                or ActionPreferenceStopException
                && exception.InnerException is { } inner)
            {
                exception = inner;
                continue;
            }

            break;
        }

        if (trace.Length > 0)
        {
            exception.Data[ScriptStackTrace] = trace;
        }

        if (thrown is not null)
        {
            Records.AddOrUpdate(exception, thrown);
        }

        return exception;
    }

    /// <summary>Adds the place of the handler to a failure that its script did not raise, such as a wrong
    /// reply.</summary>
    public static void Locate(Exception failure, ScriptSource script)
    {
        if (RecordOf(failure) is null)
        {
            failure.Data[ScriptStackTrace] = script.Frame;
        }
    }

    /// <summary>The place of a failure in scripts; empty if it has none.</summary>
    public static string PlaceOf(Exception failure) =>
        RecordOf(failure)?.ScriptStackTrace ?? failure.Data[ScriptStackTrace] as string ?? "";

    // The inner exception is the one that was thrown; the record has its place in the script.
    private static RpcException Said(Exception exception, ErrorRecord record)
    {
        Exception thrown = record.Exception as RuntimeException ?? exception;
        thrown.Data[ScriptStackTrace] = record.ScriptStackTrace;
        return At(
            record,
            new RpcException(RpcStatusCode.Unknown, RpcErrorIds.HandlerThrew, exception.Message, thrown));
    }

    /// <summary>Gives an exception the record of the error that it reports.</summary>
    public static RpcException At(ErrorRecord record, RpcException exception)
    {
        Records.AddOrUpdate(exception, record);
        return exception;
    }

    /// <summary>The shell's record of an exception that a script raised, with its place and stack trace. Null
    /// for other exceptions.</summary>
    public static ErrorRecord? RecordOf(Exception? exception)
    {
        for (; exception is not null; exception = exception.InnerException)
        {
            if (Records.TryGetValue(exception, out ErrorRecord? record))
            {
                return record;
            }
        }

        return null;
    }

    // throw 'text' makes a RuntimeException whose target and id are the text. If a function, a module or a
    // command throws a text, it is meant for the calling script instead.
    private static bool IsSaid(
        Exception exception, ErrorRecord record, IReadOnlyCollection<ScriptSource> scripts) =>
        exception is RuntimeException { WasThrownFromThrowStatement: true }
        && exception.GetType() == typeof(RuntimeException)
        && record is { TargetObject: not null, InvocationInfo: { } statement, ScriptStackTrace: { } trace }
        && record.FullyQualifiedErrorId == exception.Message
        && trace.Split('\n').All(IsFrameOfBlock)
        && scripts.Any(script => script.Contains(statement));

    // Frames of functions and commands begin with their names instead.
    private static bool IsFrameOfBlock(string frame) =>
        frame.StartsWith("at <ScriptBlock>", StringComparison.Ordinal);

    private static string WordOf(Exception leaving) => leaving switch
    {
        BreakException => "break",
        ContinueException => "continue",
        ExitException => "exit",
        _ => leaving.GetType().Name,
    };

    private static RpcException Wrong(RpcMethodInfo method, string what, Exception? inner) =>
        new(
            RpcStatusCode.Internal, RpcErrorIds.WrongReply,
            $"The handler of {method.FullName} {what}", inner);
}

/// <summary>Converts the data that a script adds to a failure: details of the status, as hashtables or
/// objects with their type in <c>@type</c>, and extensions of the native protocol's exception.</summary>
internal static class ErrorDetails
{
    private const string TypeKey = "@type";

    /// <summary>Converts an exception's details to messages. A detail that cannot be converted is left in the
    /// exception and is not sent.</summary>
    public static void ToMessages(RpcException error, RpcSchema? schema)
    {
        if (error.Details.Any(detail => Unwrap(detail) is not IMessage))
        {
            error.Details = error.Details.Select(detail => ToMessage(detail, schema)).ToArray();
        }
    }

    /// <summary>Converts an exception's extensions, a hashtable by name, to a message.</summary>
    /// <exception cref="RpcException">InvalidArgument: an extension does not exist, or its value does not fit
    /// its type.</exception>
    public static void ToExtensions(RpcException error, RpcSchema? schema)
    {
        object given = Unwrap(error.Extensions!);
        error.Extensions = given as IMessage
            ?? HeaderExtensionMap.ToMessage(schema, RpcExceptionInfo.Descriptor, given);
    }

    private static object Unwrap(object detail) =>
        detail is PSObject { BaseObject: not PSCustomObject } wrapped ? wrapped.BaseObject : detail;

    private static object ToMessage(object detail, RpcSchema? schema)
    {
        object given = Unwrap(detail);
        Dictionary<string, object?> fields = new(StringComparer.Ordinal);
        if (given is IDictionary dictionary)
        {
            foreach (DictionaryEntry entry in dictionary)
            {
                fields[LanguagePrimitives.ConvertTo<string>(entry.Key)] = entry.Value;
            }
        }
        else if (given is PSObject custom)
        {
            foreach (PSPropertyInfo property in custom.Properties)
            {
                fields[property.Name] = property.Value;
            }
        }

        if (!fields.Remove(TypeKey, out object? type) || type is null)
        {
            return given;
        }

        string name = LanguagePrimitives.ConvertTo<string>(type);
        name = name[(name.LastIndexOf('/') + 1)..];
        RpcMessageInfo? known = GrpcStatusDetails.Schema.FindMessage(name) ?? schema?.FindMessage(name);
        return known is null ? given : ShellMapper.Create(asHashtable: false).ToMessage(known, fields);
    }
}
