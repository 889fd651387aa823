using System.IO.Compression;
using System.Net;
using System.Security.Claims;
using System.Text;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.HttpOverrides;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>What applications put around a mapped server.</summary>
public static class MiddlewareTests
{
    private const string Place = "/shop.Orders/Place";
    private const string Order = """{"order":{"id":"a"}}""";
    private const string Public = "shop.example.com";

    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Fact]
    public static async Task A_base_path_is_part_of_the_page_and_of_no_method()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map =>
        {
            map.UsePathBase("/base");
            map.UseRouting();
            map.MapProtoRpc();
        });

        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, "/base" + Place)).Status);
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, Place)).Status);
        Assert.Contains(
            "data-path=\"/base/shop.Orders/Place\"", await app.Http.GetStringAsync("/base/"));
    }

    [Fact]
    public static async Task A_policy_on_the_routes_decides_who_calls()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                builder.Services.AddAuthentication(NamedUser.Name)
                    .AddScheme<AuthenticationSchemeOptions, NamedUser>(NamedUser.Name, null);
                builder.Services.AddAuthorizationBuilder().AddPolicy(
                    "ann", policy => policy.RequireClaim(ClaimTypes.Name, "ann"));
            },
            map =>
            {
                map.UseAuthentication();
                map.UseAuthorization();
                map.MapProtoRpc().RequireAuthorization("ann");
            });
        await using RpcClient grpc = RpcClient.Connect(app.Grpc, Schema, new() { Lazy = true });

        RpcException refused = await Assert.ThrowsAsync<RpcException>(() => grpc.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest(), new() { Headers = new() { { "authorization", "Bearer bob" } } }));

        Assert.Equal(RpcStatusCode.PermissionDenied, refused.Code);
        Assert.Equal(
            HttpStatusCode.Forbidden, (await PostAsync(app, Place, ("Authorization", "Bearer bob"))).Status);
        Assert.Equal(
            HttpStatusCode.OK, (await PostAsync(app, Place, ("Authorization", "Bearer ann"))).Status);
    }

    [Fact]
    public static async Task A_rate_limiter_refuses_calls_as_unavailable_which_run_nothing()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                builder.Services.AddRateLimiter(limiter => limiter.AddConcurrencyLimiter(
                    "none", options => options.PermitLimit = 1));
                builder.Services.Configure<RateLimiterOptions>(options => options.RejectionStatusCode = 429);
            },
            map =>
            {
                map.UseRateLimiter();
                map.MapProtoRpc().RequireRateLimiting("none");
            });
        await using RpcClient grpc = RpcClient.Connect(app.Grpc, Schema);
        await using RpcStreamingCall<WatchRequest, OrderEvent> running =
            await grpc.OpenAsync<WatchRequest, OrderEvent>("Track");
        await running.SendAsync(new WatchRequest { Id = "w" });
        Assert.True(await running.ReadAsync());

        RpcException refused = await Assert.ThrowsAsync<RpcException>(
            () => grpc.InvokeAsync<PlaceReply>("Count", new { }));

        Assert.Equal(RpcStatusCode.Unavailable, refused.Code);
        Assert.Equal(HttpStatusCode.TooManyRequests, (await PostAsync(app, Place)).Status);
        Assert.Equal(0, app.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(10)]
    [InlineData(20_000)]
    public static async Task Replies_are_compressed_once_and_requests_decompressed_once(int length)
    {
        await using HostedApp app = await StartCompressingAsync();
        string id = new('x', length);
        using HttpRequestMessage request = new(HttpMethod.Post, Place)
        {
            Content = new ByteArrayContent(Gzip($$$"""{"order":{"id":"{{{id}}}"}}"""))
            {
                Headers =
                {
                    { "Content-Type", "application/json" },
                    { "Content-Encoding", "gzip" },
                },
            },
        };
        request.Headers.Add("Accept-Encoding", "gzip");

        using HttpResponseMessage answer = await app.Http.SendAsync(request);
        await using GZipStream text = new(
            await answer.Content.ReadAsStreamAsync(), CompressionMode.Decompress);

        Assert.Equal(["gzip"], answer.Content.Headers.ContentEncoding);
        Assert.Contains($"{id}  Place", await new StreamReader(text).ReadToEndAsync());
    }

    [Theory]
    [InlineData(RpcCompression.None)]
    [InlineData(RpcCompression.Gzip)]
    public static async Task Clients_call_through_compression_of_the_application(RpcCompression compression)
    {
        await using HostedApp app = await StartCompressingAsync();
        foreach (string endpoint in new[] { app.Application.Urls.First(), app.Grpc })
        {
            await using RpcClient client = await RpcClient.ConnectAsync(
                endpoint, Schema, new() { Compression = compression });
            string id = new('y', 20_000);

            Assert.Equal($"{id}  Place", (await client.InvokeAsync<PlaceReply>(
                "Place", new PlaceRequest { Order = new Order { Id = id } })).Id);
            Assert.Equal(3, await client.InvokeServerStreamAsync<OrderEvent>(
                "Watch", new WatchRequest { Id = id }).CountAsync());
        }
    }

    [Theory]
    [InlineData("ProtoRpc:Http:AllowedHosts:0", Public, HttpStatusCode.OK)]
    [InlineData("AllowedHosts", "127.0.0.1;" + Public, HttpStatusCode.OK)]
    [InlineData("AllowedHosts", "127.0.0.1;[::1];*.example.com;x:80", HttpStatusCode.OK)]
    [InlineData("AllowedHosts", "*", HttpStatusCode.Forbidden)]
    public static async Task Behind_a_proxy_the_application_names_its_public_host(
        string key, string value, HttpStatusCode expected)
    {
        string? address = null;
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddProtoRpc(options => options.Server = options.Server with
            {
                Interceptors = [new RpcCallProbe(context => address = context.ClientAddress)],
            }).AddService<OrdersService>(OrdersReflection.Descriptor.Services[0]),
            map =>
            {
                map.UseForwardedHeaders(new() { ForwardedHeaders = ForwardedHeaders.All });
                map.UseRouting();
                map.MapProtoRpc();
            },
            (key, value));

        (HttpStatusCode status, string text) = await PostAsync(
            app, Place, ("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Host", Public), ("Origin", $"https://{Public}"));

        Assert.Equal(expected, status);
        Assert.Equal(expected == HttpStatusCode.OK ? "203.0.113.7:0" : null, address);
        if (expected != HttpStatusCode.OK)
        {
            Assert.Contains("AllowedHosts in the settings of the application", text);
        }
    }

    [Fact]
    public static async Task The_limit_of_messages_holds_in_place_of_kestrels_limit_of_bodies()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                builder.WebHost.ConfigureKestrel(kestrel => kestrel.Limits.MaxRequestBodySize = 100);
            },
            map => map.MapProtoRpc(), ("ProtoRpc:Limits:MaxMessageBytes", "5000"));
        foreach (string endpoint in new[] { app.Application.Urls.First(), app.Grpc })
        {
            await using RpcClient client = await RpcClient.ConnectAsync(endpoint, Schema);

            PlaceReply fits = await client.InvokeAsync<PlaceReply>("Place", NewOrder(2000));
            RpcException large = await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync<PlaceReply>("Place", NewOrder(6000)));

            Assert.Equal(2000 + "  Place".Length, fits.Id.Length);
            Assert.Equal(RpcStatusCode.ResourceExhausted, large.Code);
        }
    }

    [Theory]
    [InlineData("Development")]
    [InlineData("Production")]
    public static async Task Exceptions_are_not_told_to_callers_in_any_environment(string environment)
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                builder.Environment.EnvironmentName = environment;
                builder.Host.UseDefaultServiceProvider(options =>
                    (options.ValidateScopes, options.ValidateOnBuild) = (true, true));
                HostedApp.AddOrders(builder);
                builder.Services.AddHealthChecks();
                builder.Services.AddHttpLogging();
            },
            map =>
            {
                map.UseDeveloperExceptionPage();
                map.UseStatusCodePages();
                map.UseHttpLogging();
                map.MapProtoRpc();
            });

        (HttpStatusCode status, string text) = await PostAsync(app, Place, "{}");

        Assert.Equal(HttpStatusCode.InternalServerError, status);
        Assert.Contains("correlation_id", text);
        Assert.DoesNotContain("There is no order", text);
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, Place)).Status);
    }

    private static PlaceRequest NewOrder(int length) => new()
    {
        Order = new Order { Id = new string('x', length) },
    };

    private static byte[] Gzip(string text)
    {
        using MemoryStream bytes = new();
        using (GZipStream gzip = new(bytes, CompressionLevel.Fastest))
        {
            gzip.Write(Encoding.UTF8.GetBytes(text));
        }

        return bytes.ToArray();
    }

    private static Task<HostedApp> StartCompressingAsync() => HostedApp.StartAsync(
        builder =>
        {
            HostedApp.AddOrders(builder);
            builder.Services.AddRequestDecompression();
            builder.Services.AddResponseCompression(options => options.MimeTypes =
                ["application/json", "application/grpc", "application/x-protobuf", "application/x-ndjson"]);
        },
        map =>
        {
            map.UseResponseCompression();
            map.UseRequestDecompression();
            map.MapProtoRpc();
        });

    private static Task<(HttpStatusCode Status, string Text)> PostAsync(
        HostedApp app, string path, params (string Name, string Value)[] headers) =>
        PostAsync(app, path, Order, headers);

    private static async Task<(HttpStatusCode Status, string Text)> PostAsync(
        HostedApp app, string path, string body, params (string Name, string Value)[] headers)
    {
        using HttpRequestMessage request = new(HttpMethod.Post, path)
        {
            Content = new StringContent(body, Encoding.UTF8, "application/json"),
        };
        foreach ((string name, string value) in headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        using HttpResponseMessage response = await app.Http.SendAsync(request);
        return (response.StatusCode, await response.Content.ReadAsStringAsync());
    }
}
