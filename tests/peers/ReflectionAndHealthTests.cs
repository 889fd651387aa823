using Grpc.Health.V1;
using Grpc.Reflection;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using ProtoRpc.Tool;
using Status = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace ProtoRpc.Peers;

/// <summary>Our client and the tool ask Grpc.AspNetCore's reflection and health services.</summary>
[PeerCall(
    "Grpc.AspNetCore", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Reflection | PeerCalls.Health)]
public static class ReflectionAndHealthTests
{
    public static TheoryData<string> Versions => ["v1 and v1alpha", "v1", "v1alpha"];

    [Theory]
    [MemberData(nameof(Versions))]
    public static async Task Reflection_gives_the_schema(string versions)
    {
        await using PeerApplication server = await StartAsync(versions);
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcSchema schema = client.FetchSchema();
        DynamicMessage reply = client.Invoke("streams.Words/Say", new { text = "hi" });

        Assert.Equal(
            ["Say", "Split", "Join", "Chat"],
            schema.GetService("streams.Words").Methods.Select(method => method.Name));
        Assert.Equal("hi", reply["text"]);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public static async Task The_tool_lists_describes_and_calls(string versions)
    {
        await using PeerApplication server = await StartAsync(versions);
        string address = $"127.0.0.1:{server.Endpoint.Port}";

        (int listed, string list) = await RunAsync("list", address, "--plaintext");
        (int described, string description) = await RunAsync(
            "describe", address, "streams.Words.Say", "--plaintext");
        (int called, string reply) = await RunAsync(
            "call", address, "streams.Words/Split", "--plaintext", "--compact", "-d",
            """{"text":"one two"}""");

        Assert.Equal((0, 0, 0), (listed, described, called));
        Assert.Contains("streams.Words", list, StringComparison.Ordinal);
        Assert.Contains("streams.Text", description, StringComparison.Ordinal);
        Assert.Equal("{\"text\":\"one\"}\n{\"text\":\"two\"}\n", reply);
    }

    [Fact]
    public static async Task A_server_without_reflection_is_reported_as_such()
    {
        await using PeerApplication server = await PeerApplication.StartWordsAsync();
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcException error = Assert.Throws<RpcException>(() => client.FetchSchema());

        Assert.Equal("NoReflection", error.ErrorId);
    }

    [Theory]
    [InlineData(HealthStatus.Healthy, "Serving", 0)]
    [InlineData(HealthStatus.Unhealthy, "NotServing", 3)]
    public static async Task The_health_of_the_application_is_in_the_ping(
        HealthStatus status, string health, int exitCode)
    {
        await using PeerApplication server = await StartWithHealthAsync(() => status);
        using RpcClient client = server.Connect();
        using RpcClient ofWhole = RpcClient.Connect(server.Endpoint);
        await SeeAsync(client, status == HealthStatus.Healthy ? Status.Serving : Status.NotServing);

        RpcPingResult ping = client.Ping();
        RpcPingResult ofServer = ofWhole.Ping();
        (int code, _) = await RunAsync("health", $"127.0.0.1:{server.Endpoint.Port}", "--plaintext");

        Assert.Equal((health, health), (ping.Health, ofServer.Health));
        Assert.Contains("streams.Words", ping.Services);
        Assert.Equal(exitCode, code);
    }

    [Fact]
    public static async Task A_watch_sees_the_health_change()
    {
        HealthStatus status = HealthStatus.Healthy;
        await using PeerApplication server = await StartWithHealthAsync(() => status);
        using RpcClient client = ConnectToHealth(server);
        await using RpcStreamingCall<HealthCheckRequest, HealthCheckResponse> watch =
            await client.OpenAsync<HealthCheckRequest, HealthCheckResponse>("Watch");
        await watch.SendAsync(new HealthCheckRequest());
        await watch.CompleteAsync();
        await ReadUntilAsync(watch, Status.Serving);

        status = HealthStatus.Unhealthy;

        await ReadUntilAsync(watch, Status.NotServing);
    }

    [Fact]
    public static async Task The_health_of_a_service_that_the_application_does_not_know_is_not_found()
    {
        await using PeerApplication server = await StartWithHealthAsync(() => HealthStatus.Healthy);
        using RpcClient client = ConnectToHealth(server);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<HealthCheckResponse>(
                "Check", new HealthCheckRequest { Service = "nobody" }));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
    }

    private static Task<PeerApplication> StartAsync(string versions) => PeerApplication.StartWordsAsync(
        services => services.AddGrpcReflection(),
        application =>
        {
            if (versions == "v1 and v1alpha")
            {
                application.MapGrpcReflectionService();
            }
            else if (versions == "v1")
            {
                application.MapGrpcService<ReflectionV1ServiceImpl>();
            }
            else
            {
                application.MapGrpcService<ReflectionServiceImpl>();
            }
        });

    private static Task<PeerApplication> StartWithHealthAsync(Func<HealthStatus> status) =>
        PeerApplication.StartWordsAsync(
            services =>
            {
                services.AddGrpcReflection();
                services.AddGrpcHealthChecks().AddCheck("own", () => new HealthCheckResult(status()));
                services.Configure<HealthCheckPublisherOptions>(options =>
                {
                    options.Delay = TimeSpan.Zero;
                    options.Period = TimeSpan.FromSeconds(1);
                });
            },
            application =>
            {
                application.MapGrpcHealthChecksService();
                application.MapGrpcReflectionService();
            });

    private static RpcClient ConnectToHealth(PeerApplication server) =>
        RpcClient.Connect(server.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor));

    private static async Task SeeAsync(RpcClient client, Status status)
    {
        using RpcClient health = RpcClient.Connect(
            client.Endpoint, RpcSchema.FromDescriptors(HealthReflection.Descriptor));
        await using RpcStreamingCall<HealthCheckRequest, HealthCheckResponse> watch =
            await health.OpenAsync<HealthCheckRequest, HealthCheckResponse>("Watch");
        await watch.SendAsync(new HealthCheckRequest());
        await watch.CompleteAsync();
        await ReadUntilAsync(watch, status);
    }

    private static async Task ReadUntilAsync(
        RpcStreamingCall<HealthCheckRequest, HealthCheckResponse> watch, Status status)
    {
        do
        {
            Assert.True(await Patience.WaitAsync(watch.ReadAsync().AsTask()));
        }
        while (watch.Current.Status != status);
    }

    private static async Task<(int Code, string Output)> RunAsync(params string[] arguments)
    {
        using StringWriter output = new() { NewLine = "\n" };
        int code = await ToolCommand.RunAsync(arguments, new ToolConsole(TextReader.Null, output, output));
        return (code, output.ToString().ReplaceLineEndings("\n"));
    }
}
