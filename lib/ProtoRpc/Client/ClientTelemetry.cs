using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols;

namespace ProtoRpc.Client;

/// <summary>Reports a call as an activity and a measurement, with the names of OpenTelemetry's conventions
/// for RPC, and logs it. Without a listener, a call only reads two flags.</summary>
internal sealed class ClientTelemetry
{
    private static readonly Histogram<double> Duration = TelemetryNames.CreateDuration(
        "rpc.client.call.duration", "The time from the begin to the end of a call on a client.");

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly Activity? _before = Activity.Current;
    private readonly Activity? _activity;
    private readonly TagList _tags;
    private readonly string _method;
    private readonly RpcEndpoint _endpoint;
    private readonly ClientLog? _log;
    private readonly RpcResponseInfo? _info;

    private ClientTelemetry(
        string system, string method, RpcEndpoint endpoint, ClientLog? log, RpcResponseInfo? info)
    {
        _method = method;
        _endpoint = endpoint;
        _log = log;
        _info = info;
        _tags = TelemetryNames.Of(system, method, endpoint);
        _activity = TelemetryNames.Start(ActivityKind.Client, system, method, parent: default, _tags);
    }

    /// <summary>Begins a call and makes its activity the current one; null without a listener.</summary>
    /// <param name="system">The RPC system: <c>grpc</c>, <c>dcerpc</c> for raw calls, or
    /// <c>protorpc</c>.</param>
    /// <param name="method"><c>package.Service/Method</c>, or the id of an interface.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="log">The log of the client; null for none.</param>
    /// <param name="info">Contains the sizes when the call ends; null if they are not counted.</param>
    public static ClientTelemetry? Begin(
        string system, string method, RpcEndpoint endpoint, ClientLog? log, RpcResponseInfo? info) =>
        RpcDiagnostics.Source.HasListeners() || Duration.Enabled || log is { LogsFailures: true }
            ? new(system, method, endpoint, log, info)
            : null;

    /// <summary>Adds the trace headers of the current activity to a call, unless the caller or the client has
    /// set them.</summary>
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

    /// <summary>Makes the previous activity the current one again, while the call continues.</summary>
    public void Leave() => Activity.Current = _before;

    /// <summary>Ends the call.</summary>
    /// <param name="status">The status of the call.</param>
    /// <param name="error">The failure, for the log; null for none.</param>
    public void End(RpcStatusCode status, Exception? error = null)
    {
        bool isError = status != RpcStatusCode.OK;
        if (_activity is { } activity)
        {
            TelemetryNames.SetStatus(activity, status, isError);

            // A stream may end while another activity is current. That activity stays current.
            Activity? current = Activity.Current;
            activity.Dispose();
            if (current != activity)
            {
                Activity.Current = current;
            }
        }

        TagList tags = _tags;
        TelemetryNames.AddStatus(ref tags, status, isError);
        TimeSpan time = Stopwatch.GetElapsedTime(_start);
        Duration.Record(time.TotalSeconds, tags);
        Log(time, status, error);
    }

    private void Log(TimeSpan time, RpcStatusCode status, Exception? error)
    {
        if (status != RpcStatusCode.OK)
        {
            _log?.Fail(_method, _endpoint, time, status, error?.Message);
        }
        else if (_log is { LogsCalls: true })
        {
            _log.End(_method, _endpoint, time, _info);
        }
    }
}
