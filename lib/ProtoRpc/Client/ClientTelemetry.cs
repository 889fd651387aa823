using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols;

namespace ProtoRpc.Client;

/// <summary>Reports a call as an activity and a measurement, with the names of OpenTelemetry's conventions
/// for RPC. While nobody listens there is none, and a call costs two reads of a flag.</summary>
internal sealed class ClientTelemetry
{
    private static readonly Histogram<double> Duration = TelemetryNames.CreateDuration(
        "rpc.client.call.duration", "The time from the begin to the end of a call on a client.");

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly Activity? _before = Activity.Current;
    private readonly Activity? _activity;
    private readonly TagList _tags;

    private ClientTelemetry(RpcMethodInfo method, RpcEndpoint endpoint)
    {
        _tags = TelemetryNames.Of(endpoint.IsGrpc ? "grpc" : "protorpc", method.FullName, endpoint);
        _activity = RpcDiagnostics.Source.StartActivity(
            method.FullName, ActivityKind.Client, default(ActivityContext), _tags);
    }

    /// <summary>Begins a call, whose activity becomes the current one; null while nobody listens.</summary>
    public static ClientTelemetry? Begin(RpcMethodInfo method, RpcEndpoint endpoint) =>
        RpcDiagnostics.Source.HasListeners() || Duration.Enabled ? new(method, endpoint) : null;

    /// <summary>The call with the headers that name the current activity, unless its caller names
    /// one.</summary>
    /// <param name="call">The call.</param>
    /// <param name="always">The headers that the client sends with every call.</param>
    public static CallSpec Trace(CallSpec call, RpcMetadata always)
    {
        if (Activity.Current is not { IdFormat: ActivityIdFormat.W3C } activity
            || TraceContext.IsIn(always)
            || (call.Options?.Headers is { } own && TraceContext.IsIn(own)))
        {
            return call;
        }

        RpcMetadata headers = call.Options?.Headers?.Copy() ?? new RpcMetadata();
        TraceContext.Write(activity, headers);
        return call with { Options = (call.Options ?? new RpcCallOptions()) with { Headers = headers } };
    }

    /// <summary>Makes what was current before the call current again, while the call goes on.</summary>
    public void Leave() => Activity.Current = _before;

    /// <summary>Ends the call.</summary>
    public void End(RpcStatusCode status)
    {
        bool isError = status != RpcStatusCode.OK;
        if (_activity is { } activity)
        {
            TelemetryNames.SetStatus(activity, status, isError);

            // A stream ends where another activity may be current, which stays so.
            Activity? current = Activity.Current;
            activity.Dispose();
            if (current != activity)
            {
                Activity.Current = current;
            }
        }

        TagList tags = _tags;
        TelemetryNames.AddStatus(ref tags, status, isError);
        Duration.Record(Stopwatch.GetElapsedTime(_start).TotalSeconds, tags);
    }
}
