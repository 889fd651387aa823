using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace ProtoRpc;

/// <summary>The names under which clients and servers report activities and measurements, for
/// OpenTelemetry's <c>AddSource</c> and <c>AddMeter</c>. Without a listener, nothing is recorded.</summary>
public static class RpcDiagnostics
{
    /// <summary>The name of the <see cref="ActivitySource"/>: <c>ProtoRpc</c>.</summary>
    public const string ActivitySourceName = "ProtoRpc";

    /// <summary>The name of the <see cref="System.Diagnostics.Metrics.Meter"/>: <c>ProtoRpc</c>.</summary>
    public const string MeterName = "ProtoRpc";

    internal static ActivitySource Source { get; } = new(ActivitySourceName, Version);

    internal static Meter Meter { get; } = new(MeterName, Version);

    private static string? Version => typeof(RpcDiagnostics).Assembly.GetName().Version?.ToString(3);
}
