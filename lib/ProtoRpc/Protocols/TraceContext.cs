using System.Diagnostics;

namespace ProtoRpc.Protocols;

/// <summary>The activity that a call belongs to, as headers: W3C's <c>traceparent</c> and
/// <c>tracestate</c>.</summary>
internal static class TraceContext
{
    private const string Parent = "traceparent";
    private const string State = "tracestate";

    // What W3C Trace Context, section 3.3.1.5, requires to be passed on; more is left out.
    private const int MaxStateLength = 512;

    /// <summary>Whether the headers name an activity already.</summary>
    public static bool IsIn(RpcMetadata headers) => headers.Names.Contains(Parent);

    /// <summary>Takes the activity that the headers name out of them.</summary>
    public static void Remove(RpcMetadata headers)
    {
        headers.Remove(Parent);
        headers.Remove(State);
    }

    /// <summary>Adds an activity to the headers of a call.</summary>
    /// <remarks>An activity in another format than W3C's is not sent.</remarks>
    public static void Write(Activity activity, RpcMetadata headers)
    {
        if (activity is not { IdFormat: ActivityIdFormat.W3C, Id: { } id })
        {
            return;
        }

        headers.Add(Parent, id);
        if (activity.TraceStateString is { Length: > 0 and <= MaxStateLength } state
            && state.All(c => c is >= ' ' and <= '~'))
        {
            headers.Add(State, state);
        }
    }

    /// <summary>The activity that the headers of a call name.</summary>
    /// <returns>The default where they name none, or one that is malformed.</returns>
    public static ActivityContext Read(RpcMetadata headers)
    {
        string? state = headers.GetText(State) is { Length: <= MaxStateLength } text ? text : null;
        return ActivityContext.TryParse(
            headers.GetText(Parent), state, isRemote: true, out ActivityContext found)
            ? found
            : default;
    }
}
