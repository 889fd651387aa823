using Google.Protobuf.WellKnownTypes;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>A class of an application that serves a service on the endpoints of its configuration.</summary>
public static class HostedServiceTests
{
    private static readonly (string, string)[] Both =
    [
        ("ProtoRpc:Endpoints:0", "ncacn_ip_tcp:127.0.0.1[0]"),
        ("ProtoRpc:Endpoints:1", "grpc://127.0.0.1:0"),
    ];

    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Fact]
    public static async Task Methods_of_every_kind_are_found_by_their_names()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, null, Both);
        await using RpcClient native = RpcClient.Connect(app.Server.Endpoints[0], Schema);
        await using RpcClient grpc = RpcClient.Connect(app.Server.Endpoints[1], Schema);

        PlaceReply placed = await native.InvokeAsync<PlaceReply>("Place", NewOrder("a", 2));
        PlaceReply counted = await native.InvokeAsync<PlaceReply>("Count", new Empty());
        PlaceReply same = await grpc.InvokeAsync<PlaceReply>("Place", NewOrder("a", 2));
        List<OrderEvent> watched = await grpc.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest { Id = "w" }).ToListAsync();
        PlaceReply imported = await grpc.InvokeClientStreamAsync<PlaceReply>(
            "Import", new[] { NewOrder("x", 1), NewOrder("y", 2) }.ToAsyncEnumerable());
        List<OrderEvent> tracked = await grpc.InvokeDuplexStreamAsync<OrderEvent>(
            "Track", new[] { new WatchRequest { Id = "1" }, new WatchRequest { Id = "2" } }
                .ToAsyncEnumerable()).ToListAsync();

        Assert.Equal(("a  Place", 2), (placed.Id, placed.Total));
        Assert.Equal(placed, same);
        Assert.Equal(7, counted.Total);
        Assert.Equal([1, 2, 3], watched.Select(e => e.Number));
        Assert.Equal(("Import", 3), (imported.Id, imported.Total));
        Assert.Equal(["1", "2"], tracked.Select(e => e.Text));
    }

    [Fact]
    public static async Task A_call_has_a_scope_of_its_own_that_ends_with_it()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[0], Schema);
        NoteCount notes = app.Application.Services.GetRequiredService<NoteCount>();

        await client.InvokeAsync<PlaceReply>("Place", NewOrder("a", 0));
        PlaceReply second = await client.InvokeAsync<PlaceReply>("Place", NewOrder("b", 0));
        await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));

        Assert.Equal("b  Place", second.Id);
        Assert.Equal(3, notes.Made);
        Assert.Equal(0, notes.Open);
    }

    [Fact]
    public static async Task An_exception_of_a_method_reaches_the_caller_as_it_was_thrown()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddProtoRpc(
                options => options.Server = options.Server with { ErrorDetail = RpcErrorDetail.Full })
                .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0]),
            null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[0], Schema);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));

        Assert.Equal("There is no order.", error.Message);
        Assert.Equal("System.InvalidOperationException", error.Remote!.TypeName);
    }

    [Fact]
    public static async Task A_class_of_dynamic_messages_serves_a_schema_that_was_loaded()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddProtoRpc()
                .AddService<DynamicShop>(ShopSchema.GetService("shop.Shop")),
            null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[1], ShopSchema);

        DynamicMessage reply = await client.InvokeAsync("Buy", new { name = "tea" });

        Assert.Equal("tea sold", reply.Get(reply.Type.FindField("name")!));
    }

    [Fact]
    public static async Task A_class_of_generated_messages_serves_a_schema_that_was_loaded()
    {
        RpcSchema loaded = RpcSchema.FromDescriptorSet(Schema.ToDescriptorSet());
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddProtoRpc()
                .AddService<OrdersService>(loaded.GetService("shop.Orders")),
            null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[0], Schema);

        Assert.Equal(3, (await client.InvokeAsync<PlaceReply>("Place", NewOrder("a", 3))).Total);
    }

    [Fact]
    public static async Task A_class_that_does_not_fit_is_refused_at_the_start_with_each_signature()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => HostedApp.StartAsync(
            builder => builder.Services.AddProtoRpc()
                .AddService<BadOrders>(OrdersReflection.Descriptor.Services[0])));

        Assert.Contains($"{typeof(BadOrders).FullName} cannot serve shop.Orders", error.Message);
        Assert.Contains(
            "shop.Orders/Place: 'Task<PlaceReply> Place(WatchRequest request)' does not match. Write "
            + "'Task<PlaceReply> Place(PlaceRequest request, RpcServerCallContext context, "
            + "CancellationToken cancellationToken)'", error.Message);
        Assert.Contains("shop.Orders/Count: several methods of the class match", error.Message);
        Assert.Contains(
            "shop.Orders/Watch: 'Task<OrderEvent> Watch(WatchRequest request)' does not match. Write "
            + "'IAsyncEnumerable<OrderEvent> Watch(WatchRequest request,", error.Message);
        Assert.Contains(
            "shop.Orders/Import: the class has no public method of that name. Write "
            + "'Task<PlaceReply> Import(IAsyncEnumerable<PlaceRequest> requests,", error.Message);
        Assert.Contains("Track(IAsyncEnumerable<WatchRequest> requests,", error.Message);
    }

    [Fact]
    public static async Task Two_services_with_one_interface_id_are_refused_at_the_start()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => HostedApp.StartAsync(
            builder => HostedApp.AddOrders(builder)
                .AddService<OrdersService>(OrdersReflection.Descriptor.Services[0])));

        Assert.Equal(RpcStatusCode.AlreadyExists, error.Code);
    }

    [Theory]
    [InlineData("ProtoRpc:Limits:MaxMessageByte", "1", "there is no such setting")]
    [InlineData("ProtoRpc:Limits:MaxMessageBytes", "many", "'many' is not a whole number")]
    [InlineData("ProtoRpc:Limits:MaxMessageBytes", "-1", "'-1' is not a whole number")]
    [InlineData("ProtoRpc:Limits", "0", null, "ProtoRpc:Limits:MaxHeaders")]
    [InlineData("ProtoRpc:Limits:CallTimeout", "soon", "00:01:30")]
    [InlineData("ProtoRpc:Endpoints:0", "ncacn_ip_tcp:x", "is not an endpoint")]
    [InlineData("ProtoRpc:Endpoints:0:Url", "tcp://127.0.0.1:0", "it is a section", "ProtoRpc:Endpoints:0")]
    [InlineData("ProtoRpc:Security:Authentication", "Magic", "one of ")]
    [InlineData("ProtoRpc:Http:AllowGet", "yes", "true or false")]
    [InlineData("ProtoRpc:Certificate:Path", "/nowhere/x.pfx", "'/nowhere/x.pfx' cannot be read")]
    [InlineData("ProtoRpc:Certificate:Password", "x", "it is missing", "ProtoRpc:Certificate:Path")]
    [InlineData("ProtoRpc:Certificate:File", "x", "there is no such setting")]
    [InlineData(
        "ProtoRpc:Http:AllowedHosts:0", "https://x", "is not a host name", "ProtoRpc:Http:AllowedHosts")]
    [InlineData("ProtoRpc:HealthPeriod", "00:00:00", "less than a millisecond")]
    [InlineData("ProtoRpc:Endpoint", "tcp://127.0.0.1:0", "there is no such setting")]
    public static async Task A_setting_that_cannot_be_used_is_named_by_its_path(
        string key, string value, string? why, string? path = null)
    {
        (string, string) setting = why is null ? (path!, value) : (key, value);

        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(
            () => HostedApp.StartAsync(null, null, setting));

        Assert.Contains($"'{(why is null ? key : path ?? key)}' cannot be used", error.Message);
        Assert.Contains(why ?? "MaxHeaders", error.Message);
    }

    [Fact]
    public static async Task Settings_reach_the_server()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            null, null,
            [.. Both, ("ProtoRpc:Limits:MaxMessageBytes", "2000"), ("ProtoRpc:ErrorDetail", "message"),
            ("ProtoRpc:Limits:CallTimeout", "7"), ("ProtoRpc:Limits:ConnectTimeout", "500ms")]);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[1], Schema);

        RpcException large = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", NewOrder(new string('x', 3000), 1)));
        RpcException bare = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<PlaceReply>("Place", new PlaceRequest()));

        Assert.Equal(RpcStatusCode.ResourceExhausted, large.Code);
        Assert.Equal("There is no order.", bare.Message);
        RpcLimits limits =
            app.Application.Services.GetRequiredService<IOptions<RpcHostOptions>>().Value.Server.Limits;
        Assert.Equal(
            (TimeSpan.FromSeconds(7), TimeSpan.FromMilliseconds(500)),
            (limits.CallTimeout, limits.ConnectTimeout));
    }

    [Fact]
    public static async Task The_endpoints_end_with_the_application_after_running_calls()
    {
        HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                builder.Services.AddSingleton<SlowGate>();
                builder.Services.AddProtoRpc().AddService<SlowShop>(ShopSchema.GetService("shop.Shop"));
            },
            null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[0], ShopSchema);
        SlowGate gate = app.Application.Services.GetRequiredService<SlowGate>();
        RpcServer server = app.Server;

        Task<DynamicMessage> call = client.InvokeAsync("Buy", new { name = "tea" });
        await gate.Begun.Task.WaitAsync(TimeSpan.FromSeconds(20));
        Task stop = app.Application.StopAsync();
        await Until(() => !server.IsListening);
        Assert.False(stop.IsCompleted);
        gate.Go.SetResult();
        DynamicMessage reply = await call;
        await stop.WaitAsync(TimeSpan.FromSeconds(20));

        Assert.Equal("tea", reply.Get(reply.Type.FindField("name")!));
        Assert.True(server.Completion.IsCompleted);
        await app.DisposeAsync();
    }

    [Fact]
    public static async Task A_call_that_does_not_end_is_cancelled_within_the_time_of_the_host()
    {
        HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                builder.Services.Configure<HostOptions>(o => o.ShutdownTimeout = TimeSpan.FromSeconds(1));
                builder.Services.AddSingleton<SlowGate>();
                builder.Services.AddProtoRpc().AddService<SlowShop>(ShopSchema.GetService("shop.Shop"));
            },
            null, Both);
        await using RpcClient client = RpcClient.Connect(app.Server.Endpoints[0], ShopSchema);
        SlowGate gate = app.Application.Services.GetRequiredService<SlowGate>();

        Task<DynamicMessage> call = client.InvokeAsync("Buy", new { name = "tea" });
        await gate.Begun.Task.WaitAsync(TimeSpan.FromSeconds(20));
        await app.Application.StopAsync().WaitAsync(TimeSpan.FromSeconds(20));

        await Assert.ThrowsAsync<RpcException>(() => call);
        await app.Server.Completion.WaitAsync(TimeSpan.FromSeconds(20));
        await app.DisposeAsync();
    }

    private static RpcSchema ShopSchema { get; } =
        RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto")]);

    private static PlaceRequest NewOrder(string id, int items)
    {
        PlaceRequest request = new() { Order = new Order { Id = id } };
        request.Order.Items.AddRange(Enumerable.Repeat("x", items));
        return request;
    }

    private static async Task Until(Func<bool> condition)
    {
        long deadline = Environment.TickCount64 + 20_000;
        while (!condition())
        {
            Assert.True(Environment.TickCount64 < deadline, "It did not happen in time.");
            await Task.Delay(10);
        }
    }
}
