using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Tests.Server;

/// <summary>What a server tells the host's log, and those who listen to activities and
/// measurements.</summary>
public static class ServerHooksTests
{
    private static readonly EchoRequest Hello = new() { Text = "hello" };
    private static readonly Guid Interface = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e60");

    [Fact]
    public static void An_exception_of_a_handler_is_logged_with_the_id_that_its_caller_gets()
    {
        ListLogger logger = new();
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local,
            new RpcServerOptions { LoggerFactory = logger, ErrorDetail = RpcErrorDetail.None });
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "no disk" }));

        (string category, LogLevel level, string text, Exception? logged) = Assert.Single(logger.Entries);
        Assert.Equal(("ProtoRpc.RpcServer", LogLevel.Error), (category, level));
        Assert.Equal("no disk", Assert.IsType<InvalidOperationException>(logged).Message);
        Assert.Contains("calls.Echo/Fail", text);
        Assert.Contains(server.Endpoints[0].ToString(), text);
        Assert.Contains(error.CorrelationId!, text);
    }

    [Fact]
    public static void A_refusal_is_logged_as_information_and_a_call_that_succeeds_not_at_all()
    {
        ListLogger logger = new();
        using RpcServer server = RpcServer.Create(
                EchoServer.Schema, "calls.Echo", new RpcServerOptions { LoggerFactory = logger })
            .Handle<EchoRequest, EchoReply>("Say", (_, request) => request.Text.Length > 0
                ? new EchoReply { Text = request.Text }
                : throw new RpcException(RpcStatusCode.NotFound, "nothing to say"))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "fine" });
        Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "" }));

        (string category, LogLevel level, string text, Exception? logged) = Assert.Single(logger.Entries);
        Assert.Equal(("ProtoRpc.RpcServer", LogLevel.Information), (category, level));
        Assert.Contains("NotFound: nothing to say", text);
        Assert.Null(logged);
    }

    [Fact]
    public static void A_logger_that_throws_changes_no_answer()
    {
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local,
            new RpcServerOptions { LoggerFactory = new ListLogger { Failure = new IOException("full") } });
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "no disk" }));

        Assert.Equal("no disk", error.Message);
    }

    [Fact]
    public static void An_exception_of_a_raw_handler_is_logged()
    {
        ListLogger logger = new();
        using RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions { LoggerFactory = logger })
            .OnExecute((RpcRawContext _, byte[] _) => throw new InvalidOperationException("no tape"))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcRawClient client = RpcRawClient.Connect(server.Endpoints[0], Interface);

        Assert.Throws<RpcException>(() => client.Execute([1]));

        (string category, LogLevel level, string text, Exception? logged) = Assert.Single(logger.Entries);
        Assert.Equal(("ProtoRpc.RpcRawServer", LogLevel.Error), (category, level));
        Assert.Contains(Interface.ToString(), text);
        Assert.Equal("no tape", logged!.Message);
    }

    [Fact]
    public static void A_call_is_an_activity_that_is_part_of_the_callers()
    {
        using TelemetryLog log = new();
        ActivityTraceId trace = ActivityTraceId.CreateRandom();
        Activity? current = null;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) =>
            {
                current = Activity.Current;
                return new EchoReply { Text = "" };
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        client.Invoke<EchoReply>("Say", Hello, new RpcCallOptions
        {
            Headers = new RpcMetadata { { "traceparent", $"00-{trace}-00f067aa0ba902b7-01" } },
        });

        Activity activity = Assert.Single(log.Served, a => a.TraceId == trace);
        Assert.Same(activity, current);
        Assert.Equal("calls.Echo/Say", activity.DisplayName);
        Assert.Equal("00f067aa0ba902b7", activity.ParentSpanId.ToString());
        Assert.Equal("protorpc", activity.GetTagItem("rpc.system.name"));
        Assert.Equal("calls.Echo/Say", activity.GetTagItem("rpc.method"));
        Assert.Equal("OK", activity.GetTagItem("rpc.response.status_code"));
        Assert.Equal(server.Endpoints[0].Port, activity.GetTagItem("server.port"));
        Assert.Equal(ActivityStatusCode.Unset, activity.Status);
    }

    [Theory]
    [InlineData("Fail", "UNKNOWN", true)]
    [InlineData("Wait", "UNIMPLEMENTED", true)]
    [InlineData("Say", "NOT_FOUND", false)]
    public static void The_activity_of_a_call_that_fails_says_how(string method, string status, bool isFault)
    {
        using TelemetryLog log = new();
        ActivityTraceId trace = ActivityTraceId.CreateRandom();
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Fail", (_, _) => throw new InvalidOperationException("no disk"))
            .Handle("Say", (_, _) => throw new RpcException(RpcStatusCode.NotFound, "nothing to say"))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(method, Hello, new RpcCallOptions
        {
            Headers = new RpcMetadata { { "traceparent", $"00-{trace}-00f067aa0ba902b7-01" } },
        }));

        Activity activity = Assert.Single(log.Served, a => a.TraceId == trace);
        Assert.Equal(status, activity.GetTagItem("rpc.response.status_code"));
        Assert.Equal(isFault ? status : null, activity.GetTagItem("error.type"));
        Assert.Equal(isFault ? ActivityStatusCode.Error : ActivityStatusCode.Unset, activity.Status);
    }

    [Theory]
    [InlineData("")]
    [InlineData("00-zz-1")]
    [InlineData("ff-00000000000000000000000000000000-0000000000000000-01")]
    public static void A_trace_parent_that_is_malformed_is_no_parent(string parent)
    {
        using TelemetryLog log = new();
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        string name = server.Endpoints[0].Name;

        client.Invoke<EchoReply>("Say", Hello, new RpcCallOptions
        {
            Headers = new RpcMetadata { { "traceparent", parent } },
        });

        Activity activity = Assert.Single(log.Served, a => a.GetTagItem("server.address") as string == name);
        Assert.Equal(default, activity.ParentSpanId);
    }

    [Fact]
    public static void What_was_current_when_the_server_began_to_listen_is_no_part_of_its_calls()
    {
        using TelemetryLog log = new();
        using Activity host = new Activity("start").Start();
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        string name = server.Endpoints[0].Name;
        host.Stop();

        client.Invoke<EchoReply>("Say", Hello);

        Activity activity = Assert.Single(log.Served, a => a.GetTagItem("server.address") as string == name);
        Assert.NotEqual(host.TraceId, activity.TraceId);
    }

    [Fact]
    public static void Calls_are_measured_with_method_and_status()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcRawServer raw = RpcRawServer.Create(Interface)
            .OnExecute((RpcRawContext _, byte[] bytes) => bytes)
            .AddEndpoint(server.Endpoints[0])
            .StartListening();
        string name = server.Endpoints[0].Name;
        ConcurrentQueue<string> seen = new();
        using MeterListener listener = new();
        listener.InstrumentPublished = (instrument, meters) =>
        {
            if (instrument.Meter.Name == RpcDiagnostics.MeterName
                && instrument.Name == "rpc.server.call.duration")
            {
                Assert.Equal("s", instrument.Unit);
                meters.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<double>((_, seconds, tags, _) =>
        {
            Dictionary<string, object?> all = new(tags.ToArray());
            if (all["server.address"] as string == name)
            {
                Assert.InRange(seconds, 0, 60);
                seen.Enqueue($"{all["rpc.system.name"]} {all["rpc.method"]} "
                    + $"{all["rpc.response.status_code"]} {all.GetValueOrDefault("error.type")}");
            }
        });
        listener.Start();
        using RpcClient client = EchoServer.Connect(server);
        using RpcRawClient bytes = RpcRawClient.Connect(server.Endpoints[0], Interface);

        client.Invoke<EchoReply>("Say", Hello);
        Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Fail", Hello));
        bytes.Execute([1]);

        Assert.Equal(
            [
                "protorpc calls.Echo/Say OK ", "protorpc calls.Echo/Fail UNKNOWN UNKNOWN",
                $"dcerpc {Interface} OK ",
            ],
            seen);
    }
}
