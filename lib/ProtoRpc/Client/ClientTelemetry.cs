using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client;

/// <summary>Reports a call as an activity and a measurement, with the names of OpenTelemetry's conventions
/// for RPC. While nobody listens there is none, and a call costs two reads of a flag.</summary>
internal sealed class ClientTelemetry
{
    private const string System = "rpc.system.name";
    private const string Method = "rpc.method";
    private const string Status = "rpc.response.status_code";
    private const string ErrorType = "error.type";
    private const string Address = "server.address";
    private const string Port = "server.port";

    private static readonly Histogram<double> Duration = RpcDiagnostics.Meter.CreateHistogram(
        "rpc.client.call.duration", "s", "The time from the begin to the end of a call on a client.",
        tags: null,
        new InstrumentAdvice<double>
        {
            HistogramBucketBoundaries =
                [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
        });

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly Activity? _before = Activity.Current;
    private readonly Activity? _activity;
    private readonly TagList _tags;

    private ClientTelemetry(RpcMethodInfo method, RpcEndpoint endpoint)
    {
        _tags.Add(System, endpoint.IsGrpc ? "grpc" : "protorpc");
        _tags.Add(Method, method.FullName);
        bool hasPort = endpoint.Port > 0;
        _tags.Add(Address, hasPort ? endpoint.Host : endpoint.Name);
        if (hasPort)
        {
            _tags.Add(Port, endpoint.Port);
        }

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
        string name = NameOf(status);
        if (_activity is { } activity)
        {
            activity.SetTag(Status, name);
            if (status != RpcStatusCode.OK)
            {
                activity.SetTag(ErrorType, name);
                activity.SetStatus(ActivityStatusCode.Error);
            }

            // A stream ends where another activity may be current, which stays so.
            Activity? current = Activity.Current;
            activity.Dispose();
            if (current != activity)
            {
                Activity.Current = current;
            }
        }

        TagList tags = _tags;
        tags.Add(Status, name);
        if (status != RpcStatusCode.OK)
        {
            tags.Add(ErrorType, name);
        }

        Duration.Record(Stopwatch.GetElapsedTime(_start).TotalSeconds, tags);
    }

    // gRPC's names. Connect's differ from them in one letter of one name.
    private static string NameOf(RpcStatusCode code) => code switch
    {
        RpcStatusCode.OK => "OK",
        RpcStatusCode.Cancelled => "CANCELLED",
        _ => ConnectCodes.NameOf(code).ToUpperInvariant(),
    };
}
