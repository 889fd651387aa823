using System.Collections.Concurrent;
using System.Diagnostics;
using Microsoft.Extensions.Logging;
using OpenTelemetry;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

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

    [Theory]
    [InlineData("http", false)]
    [InlineData("http", true)]
    [InlineData("grpc", false)]
    [InlineData("grpc", true)]
    public static async Task The_SDK_exports_calls_of_the_routes_of_an_application(
        string protocol, bool hasRequests)
    {
        List<Activity> spans = [];
        TracerProviderBuilder builder = Sdk.CreateTracerProviderBuilder()
            .AddSource(RpcDiagnostics.ActivitySourceName)
            .AddInMemoryExporter(spans);
        using TracerProvider tracing =
            (hasRequests ? builder.AddSource("Microsoft.AspNetCore") : builder).Build();
        await using HostedApp app = await HostedApp.StartAsync(
            host =>
            {
                HostedApp.AddOrders(host);

                // With a log, ASP.NET Core makes an activity for each request.
                host.Logging.AddProvider(new LogLines(new ConcurrentQueue<string>()));
            },
            map => map.MapProtoRpc());
        string endpoint = protocol == "grpc" ? app.Grpc : $"{app.Http.BaseAddress}";
        await using (RpcClient client = await RpcClient.ConnectAsync(
            endpoint, RpcSchema.FromDescriptors(OrdersReflection.Descriptor)))
        {
            await client.InvokeAsync("Place", new { order = new { id = "a" } });
        }

        Assert.True(tracing.ForceFlush());

        // Disposing alone would not wait for the ends of requests, which their spans have.
        await app.Application.StopAsync();
        await app.DisposeAsync();
        tracing.Dispose();
        int port = RpcEndpoint.Parse(endpoint).Port;
        Activity[] own = [.. spans.ToArray().Where(span => Equals(span.GetTagItem("server.port"), port))];
        Activity sent = Assert.Single(
            own, span => span.Kind == ActivityKind.Client && span.DisplayName == "shop.Orders/Place");
        Activity served = Assert.Single(
            own, span => span.Kind == ActivityKind.Server && span.DisplayName == "shop.Orders/Place");
        ActivitySpanId[] requests =
        [
            .. own.Concat(spans.ToArray())
                .Where(span => span.Source.Name == "Microsoft.AspNetCore" && span.ParentSpanId == sent.SpanId)
                .Select(span => span.SpanId),
        ];
        Assert.Equal(sent.TraceId, served.TraceId);
        Assert.Equal(hasRequests, requests.Contains(served.ParentSpanId));
        Assert.Equal(!hasRequests, served.ParentSpanId == sent.SpanId);
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
