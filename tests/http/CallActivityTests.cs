using System.Diagnostics;
using ProtoRpc.Tests.Server;

namespace ProtoRpc.Http.Tests;

/// <summary>The activities of calls over HTTP and gRPC.</summary>
public static class CallActivityTests
{
    [Theory]
    [InlineData("http://127.0.0.1:0/", "protorpc")]
    [InlineData("grpc://127.0.0.1:0", "grpc")]
    public static void A_call_is_part_of_what_its_traceparent_names(string endpoint, string system)
    {
        using TelemetryLog log = new();
        ActivityTraceId trace = ActivityTraceId.CreateRandom();
        using WordsServer server = new(endpoint);
        using RpcClient client = server.Connect();

        client.Invoke(
            client.GetMethod("streams.Words/Say"), WordsServer.Text("hello"),
            new RpcCallOptions
            {
                Headers = new RpcMetadata { { "traceparent", $"00-{trace}-00f067aa0ba902b7-01" } },
            });

        // The client may have the reply before the server has ended the call.
        Assert.True(SpinWait.SpinUntil(
            () => log.Served.Any(a => a.TraceId == trace), TimeSpan.FromSeconds(10)));
        Activity activity = Assert.Single(log.Served, a => a.TraceId == trace);
        Assert.Equal("streams.Words/Say", activity.DisplayName);
        Assert.Equal("00f067aa0ba902b7", activity.ParentSpanId.ToString());
        Assert.Equal(system, activity.GetTagItem("rpc.system.name"));
        Assert.Equal("OK", activity.GetTagItem("rpc.response.status_code"));
        Assert.Equal(server.Endpoint.Port, activity.GetTagItem("server.port"));
    }
}
