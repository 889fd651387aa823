using System.Net;
using Google.Protobuf;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.TestHost;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Http.Tests.Client;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>Runs the code of the pages that serves.</summary>
public static class GuideSamplesTests
{
    [Fact]
    public static void Says_hello()
    {
        using StringWriter output = new();

        GuideSamples.Hello(output);

        Assert.EndsWith("says: Hello via LRPC!", output.ToString().Trim(), StringComparison.Ordinal);
    }

    [Fact]
    public static void Compares_schemas()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-compare");
        try
        {
            string released = Path.Combine(folder.FullName, "released.proto");
            string planned = Path.Combine(folder.FullName, "planned.proto");
            File.WriteAllText(released, "syntax = \"proto3\"; message M { int32 a = 1; }");
            File.WriteAllText(planned, "syntax = \"proto3\"; message M { string a = 1; }");

            Assert.Contains(RpcBreakingRule.FieldTypeChanged, GuideSamples.Compare(released, planned));
            Assert.DoesNotContain(
                RpcBreakingRule.FieldTypeChanged, GuideSamples.Compare(released, released));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static async Task Serves_generated_messages_over_gRPC_and_HTTP() => Assert.Equal(
        "o1 1 3 InvalidArgument {\"number\":1,\"text\":\"o2\"}",
        await GuideSamples.ServeAsync("grpc://127.0.0.1:0", "http://127.0.0.1:0/"));

    [Fact]
    public static async Task Checks_callers_by_their_token()
    {
        Dictionary<string, string> users = new() { ["t1"] = "ann" };

        Assert.Equal("ann", await GuideSamples.CheckAsync(users, "t1"));
        Assert.Equal("Unauthenticated", await GuideSamples.CheckAsync(users, "t2"));
    }

    [Fact]
    public static async Task Serves_bytes() => Assert.Equal("HELLO", await GuideSamples.RawAsync());

    [Fact]
    public static void Answers_as_a_mock() => GuideSamples.Mock(OrderServer.Schema);

    [Fact]
    public static void Writes_access_logs_to_a_file_and_to_a_method()
    {
        RpcServerOptions[] observed = new RpcServerOptions[2];

        GuideSamples.Observe(observed);

        Assert.All(observed, options => Assert.NotNull(options.AccessLog));
    }

    [Fact]
    public static void Traces_frames()
    {
        using OrderServer server = new(OrderServer.NewLocal());
        using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema, GuideSamples.Trace());

        Assert.Equal(0, client.Invoke("Place", new { })["total"]);
    }

    [Fact]
    public static void Exports_telemetry() => Assert.True(GuideSamples.Export());

    [Fact]
    public static async Task Calls_through_a_test_server()
    {
        await using WebApplication app = HostedApp.Build(builder =>
        {
            builder.WebHost.UseTestServer();
            HostedApp.AddOrders(builder);
        });
        app.MapProtoRpc();
        await app.StartAsync();

        Assert.StartsWith("a ", await GuideSamples.TestServerAsync(app));
    }

    [Fact]
    public static async Task Maps_a_second_server_under_a_prefix()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddAuthorization().AddAuthentication(),
            map =>
            {
                map.UseAuthorization();
                GuideSamples.Admin(
                    map, OrderServer.Schema, (_, _) => ValueTask.FromResult<IMessage>(new PlaceReply()));
            });

        using HttpResponseMessage answer = await app.Http.GetAsync(
            new Uri("/admin/shop.Orders/Count", UriKind.Relative));

        // There is no policy of that name, which is found out by a request that gets this far.
        Assert.Equal(HttpStatusCode.InternalServerError, answer.StatusCode);
    }
}
