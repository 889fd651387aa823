using System.Collections.Frozen;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols;

/// <summary>The attributes of a call in activities and measurements, on both sides, with the names of
/// OpenTelemetry's conventions for RPC.</summary>
internal static class TelemetryNames
{
    private const string System = "rpc.system.name";
    private const string Method = "rpc.method";
    private const string OriginalMethod = "rpc.method_original";
    private const string Status = "rpc.response.status_code";
    private const string ErrorType = "error.type";
    private const string Address = "server.address";
    private const string Port = "server.port";

    private static readonly FrozenDictionary<RpcStatusCode, string> StatusNames =
        Enum.GetValues<RpcStatusCode>().ToFrozenDictionary(code => code, NameOf);

    /// <summary>Makes the measurement of how long calls take, in seconds.</summary>
    public static Histogram<double> CreateDuration(string name, string description) =>
        RpcDiagnostics.Meter.CreateHistogram(
            name, "s", description, tags: null,
            new InstrumentAdvice<double>
            {
                HistogramBucketBoundaries =
                    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
            });

    /// <summary>The method of a call whose method could not be read, or does not exist: a caller who makes
    /// names up adds no value to the attribute.</summary>
    public const string UnknownMethod = "_OTHER";

    /// <summary>Begins an activity, as the current one.</summary>
    /// <param name="kind">The side.</param>
    /// <param name="system">The protocol.</param>
    /// <param name="method">What is called; also the name of the activity, unless the method is
    /// unknown.</param>
    /// <param name="parent">What it is part of; the default for the current activity.</param>
    /// <param name="tags">The attributes.</param>
    /// <returns>Null where no listener wants it.</returns>
    public static Activity? Start(
        ActivityKind kind, string system, string method, ActivityContext parent, TagList tags) =>
        RpcDiagnostics.Source.StartActivity(
            method == UnknownMethod ? system : method, kind, parent, tags);

    /// <summary>Says what a caller named that is no method.</summary>
    public static void SetOriginal(Activity activity, string called) =>
        activity.SetTag(OriginalMethod, called);

    /// <summary>The attributes that are known when a call begins.</summary>
    /// <param name="system">The protocol.</param>
    /// <param name="method">What is called.</param>
    /// <param name="endpoint">Where.</param>
    public static TagList Of(string system, string method, RpcEndpoint endpoint)
    {
        TagList tags = [];
        tags.Add(System, system);
        tags.Add(Method, method);
        bool hasPort = endpoint.Port > 0;
        tags.Add(Address, hasPort ? endpoint.Host : endpoint.Name);
        if (hasPort)
        {
            tags.Add(Port, endpoint.Port);
        }

        return tags;
    }

    /// <summary>Adds how a call ended.</summary>
    /// <param name="tags">The attributes of the call.</param>
    /// <param name="status">How it ended.</param>
    /// <param name="isError">Whether that is an error of the side that reports.</param>
    public static void AddStatus(ref TagList tags, RpcStatusCode status, bool isError)
    {
        tags.Add(Status, StatusNames[status]);
        if (isError)
        {
            tags.Add(ErrorType, StatusNames[status]);
        }
    }

    /// <summary>Sets how a call ended.</summary>
    /// <param name="activity">The activity of the call.</param>
    /// <param name="status">How it ended.</param>
    /// <param name="isError">Whether that is an error of the side that reports.</param>
    public static void SetStatus(Activity activity, RpcStatusCode status, bool isError)
    {
        activity.SetTag(Status, StatusNames[status]);
        if (isError)
        {
            activity.SetTag(ErrorType, StatusNames[status]);
            activity.SetStatus(ActivityStatusCode.Error);
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
