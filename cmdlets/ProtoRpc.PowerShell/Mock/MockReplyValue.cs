using System.Collections;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Parameters;
using ErrorDetails = ProtoRpc.PowerShell.Handlers.ErrorDetails;

namespace ProtoRpc.PowerShell.Mock;

/// <summary>Converts a script's value for a mocked method to replies of <see cref="RpcMock"/>.</summary>
/// <param name="handlers">Converts script blocks and connections to handlers.</param>
internal sealed class MockReplyValue(HandlerValue handlers)
{
    /// <summary>The replies, one for each call.</summary>
    /// <exception cref="RpcException">InvalidArgument: the value cannot answer a call, and why.</exception>
    public IReadOnlyList<object> ToReplies(RpcMethodInfo method, object? value)
    {
        if (ListOf(value) is not { } list)
        {
            return [ToReply(method, value)];
        }

        // For a server-streaming method, a list contains the messages of one call, unless it is a list of
        // calls.
        if (!method.IsServerStreaming || list.Any(item => ListOf(item) is not null || Runs(item)))
        {
            return [.. list.Select(item => ListOf(item) is { } stream
                ? stream.ConvertAll(message => ToMessage(method, message))
                : ToReply(method, item))];
        }

        return [list.ConvertAll(message => ToMessage(method, message))];
    }

    private object ToReply(RpcMethodInfo method, object? value) =>
        Runs(value) ? handlers.ToHandler(method, value) : OfStream(method, ToMessage(method, value));

    // A single message is a stream of one.
    private static object OfStream(RpcMethodInfo method, object message) =>
        method.IsServerStreaming && message is not Exception ? new List<object> { message } : message;

    private static bool Runs(object? value) => HandlerValue.Bare(value) is ScriptBlock or RpcConnection;

    private static List<object?>? ListOf(object? value) =>
        HandlerValue.Bare(value) is IEnumerable list and not (string or IDictionary or IMessage or byte[])
            ? [.. list.Cast<object?>()]
            : null;

    private static object ToMessage(RpcMethodInfo method, object? value) => HandlerValue.Bare(value) switch
    {
        ErrorRecord record => ToFailure(method, record.Exception),
        Exception failure => ToFailure(method, failure),
        IMessage message => message,
        IDictionary fields => fields,
        null or string or char or bool or ValueType => throw HandlerValue.Invalid(
            $"A reply of '{method.Name}' is not a message: '{value}'. Write {method.Name} = @{{ ... }} for a "
            + $"reply, {method.Name} = @{{ ... }}, @{{ ... }} for one reply after the other, "
            + $"{method.Name} = {{ ... }} to run a script, or "
            + $"{method.Name} = [ProtoRpc.RpcException]::new('Unavailable', 'down') to fail."),
        _ => value!,
    };

    // Converted now, in the caller's session, so that errors are reported before the first call.
    private static Exception ToFailure(RpcMethodInfo method, Exception failure)
    {
        if (failure is not RpcException rpc)
        {
            return failure;
        }

        ErrorDetails.ToMessages(rpc, method.Service.Schema);
        if (rpc.Details.FirstOrDefault(detail => detail is not IMessage) is { } other)
        {
            throw HandlerValue.Invalid(
                $"A detail of the failure of '{method.Name}' is not a message: '{other}'. Write a hashtable "
                + "with the full name of a type of the schema or of google.rpc, "
                + "@{ '@type' = 'google.rpc.RetryInfo'; ... }.");
        }

        if (rpc.Extensions is not null)
        {
            ErrorDetails.ToExtensions(rpc, method.Service.Schema);
        }

        return rpc;
    }
}
