using System.Diagnostics;
using ProtoRpc.Tests.Server;

namespace ProtoRpc.Http.Tests;

/// <summary>Activities and measurements of clients and servers, on every protocol, of calls and
/// streams.</summary>
public sealed class TelemetryTests : IDisposable
{
    private readonly TelemetryLog _log = new();

    public static TheoryData<string, string, bool> Protocols => new()
    {
        { "tcp://127.0.0.1:0", "protorpc", false },
        { "local://NAME", "protorpc", false },
        { "inproc://NAME", "protorpc", true },
        { "http://127.0.0.1:0/", "protorpc", true },
        { "grpc://127.0.0.1:0", "grpc", true },
    };

    public void Dispose() => _log.Dispose();

    [Theory]
    [MemberData(nameof(Protocols))]
    public async Task The_call_of_a_server_is_part_of_the_call_of_its_client(
        string endpoint, string system, bool streams)
    {
        using Activity outer = new("outer") { TraceStateString = "vendor=1" };
        outer.AddBaggage("user", "ann").Start();
        RpcEndpoint bound;
        using (WordsServer server = new(Named(endpoint)))
        {
            bound = server.Endpoint;
            await using RpcClient client = server.Connect();
            client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Text("hello"));
            await client.InvokeAsync(client.GetMethod("streams.Words/Say"), WordsServer.Text("hello"));
            if (streams)
            {
                await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(
                    "Split", WordsServer.Text("a b")))
                {
                }
            }
        }

        Activity[] calls = Of(outer, ActivityKind.Client);
        Activity[] served = Of(outer, ActivityKind.Server);
        string[] methods = streams
            ? ["streams.Words/Say", "streams.Words/Say", "streams.Words/Split"]
            : ["streams.Words/Say", "streams.Words/Say"];
        Assert.Equal(methods, calls.Select(call => call.DisplayName));
        Assert.Equal(methods, served.Select(call => call.DisplayName));
        Assert.All(calls, call => Assert.Equal(outer.SpanId, call.ParentSpanId));
        Assert.Equal(calls.Select(call => call.SpanId), served.Select(call => call.ParentSpanId));
        Assert.All(served, call =>
        {
            Assert.Equal("vendor=1", call.TraceStateString);
            Assert.True(call.HasRemoteParent);
            Assert.Empty(call.Baggage);
        });
        string address = bound.Port > 0 ? "127.0.0.1" : bound.Name;
        Assert.All(calls.Concat(served), call =>
        {
            Assert.Equal(system, call.GetTagItem("rpc.system.name"));
            Assert.Equal(call.DisplayName, call.GetTagItem("rpc.method"));
            Assert.Equal("OK", call.GetTagItem("rpc.response.status_code"));
            Assert.Equal(address, call.GetTagItem("server.address"));
            Assert.Null(call.GetTagItem("error.type"));
        });
        foreach (string side in new[] { "client", "server" })
        {
            Assert.Equal(
                methods, Measured(bound).Where(one => one.Name == $"rpc.{side}.call.duration")
                    .Select(one => one.Tags["rpc.method"]));
        }
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:0")]
    [InlineData("local://NAME")]
    [InlineData("inproc://NAME")]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public void Methods_that_do_not_exist_are_one_method(string endpoint)
    {
        // A client whose schema has methods that the server does not know.
        RpcSchema other = WordsServer.Schema;
        using Activity outer = new Activity("outer").Start();
        RpcEndpoint bound;
        using (RpcServer server = RpcServer.Create(other, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (_, request) => ValueTask.FromResult(request))
            .AddEndpoint(Named(endpoint))
            .StartListening())
        {
            bound = server.Endpoints[0];
            for (int i = 0; i < 3; i++)
            {
                CallUnknown(bound, $"Hostile{Guid.NewGuid():N}");
            }
        }

        object?[] methods =
        [
            .. Measured(bound).Where(one => one.Name == "rpc.server.call.duration")
                .Select(one => one.Tags["rpc.method"]).Distinct(),
        ];
        Assert.Equal(["_OTHER"], methods);
        Assert.Equal(3, Measured(bound).Count(one => one.Name == "rpc.server.call.duration"));
        Assert.All(
            Measured(bound).Where(one => one.Name == "rpc.server.call.duration"),
            one => Assert.Equal("UNIMPLEMENTED", one.Tags["error.type"]));

        // Their activities have the name of the system, and what was called as an attribute.
        Activity[] served = [.. _log.Activities.Where(one => one.TraceId == outer.TraceId
            && one.Kind == ActivityKind.Server && (string?)one.GetTagItem("rpc.method") == "_OTHER")];
        Assert.Equal(3, served.Length);
        Assert.All(served, call =>
        {
            Assert.Equal(call.GetTagItem("rpc.system.name"), call.DisplayName);
            Assert.Matches(@"^streams\.Words/Hostile\w+$", (string)call.GetTagItem("rpc.method_original")!);
            Assert.Equal("UNIMPLEMENTED", call.GetTagItem("rpc.response.status_code"));
            Assert.Equal(ActivityStatusCode.Error, call.Status);
            Assert.True(call.HasRemoteParent);
            Assert.True(call.Duration >= TimeSpan.Zero);
        });
    }

    private static string Named(string endpoint) =>
        endpoint.Replace("NAME", $"t{Guid.NewGuid():N}"[..12], StringComparison.Ordinal);

    private static void CallUnknown(RpcEndpoint endpoint, string method)
    {
        using TempProto proto = new(method);
        using RpcClient client = RpcClient.Connect(
            endpoint, proto.Schema, new() { Service = "streams.Words" });
        Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod(method), new DynamicMessage(proto.Schema.GetMessage("streams.Text"))));
    }

    private Activity[] Of(Activity outer, ActivityKind kind) =>
    [
        .. _log.Activities.Where(one => one.TraceId == outer.TraceId && one.Kind == kind)
            .Where(one => one.DisplayName.StartsWith("streams.", StringComparison.Ordinal))
            .OrderBy(one => one.StartTimeUtc),
    ];

    // Other tests call at the same time.
    private IEnumerable<TelemetryLog.Measurement> Measured(RpcEndpoint endpoint) =>
        _log.Measured.Where(one =>
            (one.Tags["rpc.method"] is "_OTHER" or string { Length: > 0 })
            && (endpoint.Port > 0
                ? Equals(one.Tags.GetValueOrDefault("server.port"), endpoint.Port)
                : Equals(one.Tags["server.address"], endpoint.Name))
            && ((string)one.Tags["rpc.method"]!).StartsWith("google.", StringComparison.Ordinal) is false);

    /// <summary>The service streams.Words with one more method.</summary>
    private sealed class TempProto : IDisposable
    {
        private readonly string _folder = Directory.CreateTempSubdirectory("protorpc").FullName;

        public TempProto(string method)
        {
            string text = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto"));
            string file = Path.Combine(_folder, "streams.proto");
            File.WriteAllText(file, text.Replace(
                "service Words {", $"service Words {{ rpc {method}(Text) returns (Text);",
                StringComparison.Ordinal));
            Schema = RpcSchema.Load([file]);
        }

        public RpcSchema Schema { get; }

        public void Dispose() => Directory.Delete(_folder, recursive: true);
    }
}
