using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

namespace ProtoRpc.Http.Tests;

/// <summary>What OpenTelemetry's SDK exports of calls.</summary>
public static class OpenTelemetryTests
{
    [Theory]
    [InlineData("tcp://127.0.0.1:0", "protorpc")]
    [InlineData("http://127.0.0.1:0/", "protorpc")]
    [InlineData("grpc://127.0.0.1:0", "grpc")]
    public static void The_SDK_exports_both_sides_of_a_call(string endpoint, string system)
    {
        List<Activity> spans = [];
        List<Metric> metrics = [];
        using TracerProvider tracing = Sdk.CreateTracerProviderBuilder()
            .AddSource(RpcDiagnostics.ActivitySourceName)
            .AddInMemoryExporter(spans)
            .Build();
        using MeterProvider metering = Sdk.CreateMeterProviderBuilder()
            .AddMeter(RpcDiagnostics.MeterName)
            .AddInMemoryExporter(metrics)
            .Build();
        int port;
        using (WordsServer server = new(endpoint))
        {
            port = server.Endpoint.Port;
            using RpcClient client = server.Connect();
            client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Text("hello"));
        }

        Assert.True(tracing.ForceFlush() && metering.ForceFlush());

        // The calls of other tests, which run at the same time, are exported as well, until here.
        tracing.Dispose();
        Activity[] own = [.. spans.ToArray().Where(span =>
            Equals(span.GetTagItem("server.port"), port) && span.DisplayName == "streams.Words/Say")];
        Activity sent = Assert.Single(own, span => span.Kind == ActivityKind.Client);
        Activity served = Assert.Single(own, span => span.Kind == ActivityKind.Server);
        Assert.Equal(sent.SpanId, served.ParentSpanId);
        Assert.Equal(
            (system, system), (sent.GetTagItem("rpc.system.name"), served.GetTagItem("rpc.system.name")));
        foreach (string side in new[] { "client", "server" })
        {
            (long count, double sum) = PointOf(metrics, $"rpc.{side}.call.duration", port);
            Assert.Equal(1, count);
            Assert.InRange(sum, 0, 60);
        }
    }

    private static (long Count, double Sum) PointOf(List<Metric> metrics, string name, int port)
    {
        Metric metric = Assert.Single(metrics, metric => metric.Name == name);
        Assert.Equal("s", metric.Unit);
        foreach (ref readonly MetricPoint point in metric.GetMetricPoints())
        {
            Dictionary<string, object?> tags = [];
            foreach (KeyValuePair<string, object?> tag in point.Tags)
            {
                tags[tag.Key] = tag.Value;
            }

            if (Equals(tags.GetValueOrDefault("server.port"), port)
                && Equals(tags["rpc.method"], "streams.Words/Say"))
            {
                return (point.GetHistogramCount(), point.GetHistogramSum());
            }
        }

        throw new InvalidOperationException($"{name} has no point of port {port}.");
    }
}
