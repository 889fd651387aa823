using System.Collections.Frozen;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols;
using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc.Server;

/// <summary>Reports calls as activities and measurements, with the names of OpenTelemetry's conventions for
/// RPC. Without a listener, a call costs two reads of a flag.</summary>
internal static class CallTelemetry
{
    private static readonly Histogram<double> Duration = TelemetryNames.CreateDuration(
        "rpc.server.call.duration", "The time from the begin to the end of a call on a server.");

    // Of a status that is the caller's own doing, a server is not at fault.
    private static readonly FrozenSet<RpcStatusCode> Faults = FrozenSet.Create(
        RpcStatusCode.Unknown, RpcStatusCode.DeadlineExceeded, RpcStatusCode.Unimplemented,
        RpcStatusCode.Internal, RpcStatusCode.Unavailable, RpcStatusCode.DataLoss);

    /// <summary>Whether somebody listens to activities.</summary>
    public static bool IsTraced => RpcDiagnostics.Source.HasListeners();

    /// <summary>Whether somebody listens to measurements.</summary>
    public static bool IsMeasured => Duration.Enabled;

    /// <summary>Begins the activity of a call, as the current one.</summary>
    /// <param name="call">What is called, and where.</param>
    /// <param name="parent">The parent; the default for a root activity.</param>
    /// <returns>Null without a listener for it.</returns>
    public static Activity? Start(in CallTarget call, ActivityContext parent)
    {
        // What was current when the server began to listen is no part of the call.
        Activity.Current = null;
        return TelemetryNames.Start(ActivityKind.Server, call.System, call.Method, parent, TagsOf(call));
    }

    /// <summary>Begins the activity of a call whose method could not be read, or does not exist.</summary>
    /// <param name="call">What is known of it.</param>
    /// <param name="called">What it named; null for nothing.</param>
    /// <param name="parent">The parent; the default for a root activity.</param>
    /// <returns>Null without a listener for it.</returns>
    public static Activity? StartUnknown(in CallTarget call, string? called, ActivityContext parent)
    {
        Activity? activity = Start(call, parent);
        if (activity is { IsAllDataRequested: true } && called is not null)
        {
            TelemetryNames.SetOriginal(activity, AccessLogText.Of(called));
        }

        return activity;
    }

    /// <summary>Ends the activity of a call.</summary>
    public static void Stop(Activity activity, RpcStatusCode status)
    {
        TelemetryNames.SetStatus(activity, status, Faults.Contains(status));
        activity.Dispose();
    }

    /// <summary>Measures a call that ended.</summary>
    /// <param name="call">What was called, and where.</param>
    /// <param name="status">How it ended.</param>
    /// <param name="time">How long it took.</param>
    public static void Measure(in CallTarget call, RpcStatusCode status, TimeSpan time)
    {
        TagList tags = TagsOf(call);
        TelemetryNames.AddStatus(ref tags, status, Faults.Contains(status));
        Duration.Record(time.TotalSeconds, tags);
    }

    private static TagList TagsOf(in CallTarget call) =>
        TelemetryNames.Of(call.System, call.Method, call.Endpoint);
}

/// <summary>What a call calls, as logs, activities and measurements name it.</summary>
/// <param name="System">The RPC system: <c>grpc</c>, <c>dcerpc</c> of the raw layer, or
/// <c>protorpc</c>.</param>
/// <param name="Method"><c>package.Service/Method</c>, or the id of an interface.</param>
/// <param name="Endpoint">The listener's endpoint.</param>
internal readonly record struct CallTarget(string System, string Method, RpcEndpoint Endpoint)
{
    /// <summary>The method of a call whose method could not be read, or does not exist.</summary>
    public const string UnknownMethod = TelemetryNames.UnknownMethod;
}
