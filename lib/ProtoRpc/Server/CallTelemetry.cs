using System.Collections.Frozen;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Server;

/// <summary>Reports calls as activities and measurements, with the names of OpenTelemetry's conventions for
/// RPC. While nobody listens, a call costs two reads of a flag.</summary>
internal static class CallTelemetry
{
    private const string System = "rpc.system.name";
    private const string Method = "rpc.method";
    private const string Status = "rpc.response.status_code";
    private const string ErrorType = "error.type";
    private const string Address = "server.address";
    private const string Port = "server.port";

    private static readonly Histogram<double> Duration = RpcDiagnostics.Meter.CreateHistogram(
        "rpc.server.call.duration", "s", "The time from the begin to the end of a call on a server.",
        tags: null,
        new InstrumentAdvice<double>
        {
            HistogramBucketBoundaries =
                [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
        });

    // Of a status that is the caller's own doing, a server is not at fault.
    private static readonly FrozenSet<RpcStatusCode> Faults = FrozenSet.Create(
        RpcStatusCode.Unknown, RpcStatusCode.DeadlineExceeded, RpcStatusCode.Unimplemented,
        RpcStatusCode.Internal, RpcStatusCode.Unavailable, RpcStatusCode.DataLoss);

    private static readonly FrozenDictionary<RpcStatusCode, string> StatusNames =
        Enum.GetValues<RpcStatusCode>().ToFrozenDictionary(code => code, NameOf);

    /// <summary>Whether somebody listens to activities.</summary>
    public static bool IsTraced => RpcDiagnostics.Source.HasListeners();

    /// <summary>Whether somebody listens to measurements.</summary>
    public static bool IsMeasured => Duration.Enabled;

    /// <summary>Begins the activity of a call, as the current one.</summary>
    /// <param name="call">What is called, and where.</param>
    /// <param name="parent">What it is part of; the default for an activity of its own.</param>
    /// <returns>Null where no listener wants it.</returns>
    public static Activity? Start(in CallTarget call, ActivityContext parent)
    {
        // What was current when the server began to listen is no part of the call.
        Activity.Current = null;
        TagList tags = [];
        tags.Add(System, call.System);
        tags.Add(Method, call.Method);
        AddEndpoint(ref tags, call.Endpoint);
        return RpcDiagnostics.Source.StartActivity(call.Method, ActivityKind.Server, parent, tags);
    }

    /// <summary>Ends the activity of a call.</summary>
    public static void Stop(Activity activity, RpcStatusCode status)
    {
        activity.SetTag(Status, StatusNames[status]);
        if (Faults.Contains(status))
        {
            activity.SetTag(ErrorType, StatusNames[status]);
            activity.SetStatus(ActivityStatusCode.Error);
        }

        activity.Dispose();
    }

    /// <summary>Measures a call that ended.</summary>
    /// <param name="call">What was called, and where.</param>
    /// <param name="status">How it ended.</param>
    /// <param name="time">How long it took.</param>
    public static void Measure(in CallTarget call, RpcStatusCode status, TimeSpan time)
    {
        TagList tags = [];
        tags.Add(System, call.System);
        tags.Add(Method, call.Method);
        AddEndpoint(ref tags, call.Endpoint);
        tags.Add(Status, StatusNames[status]);
        if (Faults.Contains(status))
        {
            tags.Add(ErrorType, StatusNames[status]);
        }

        Duration.Record(time.TotalSeconds, tags);
    }

    private static void AddEndpoint(ref TagList tags, RpcEndpoint endpoint)
    {
        bool hasPort = endpoint.Port > 0;
        tags.Add(Address, hasPort ? endpoint.Host : endpoint.Name);
        if (hasPort)
        {
            tags.Add(Port, endpoint.Port);
        }
    }

    // gRPC's names. Connect's differ from them in one letter of one name.
    private static string NameOf(RpcStatusCode code) => code switch
    {
        RpcStatusCode.OK => "OK",
        RpcStatusCode.Cancelled => "CANCELLED",
        _ => ConnectCodes.NameOf(code).ToUpperInvariant(),
    };
}
