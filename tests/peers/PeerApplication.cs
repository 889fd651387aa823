using System.Net;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Peers;

/// <summary>An ASP.NET Core application that serves somebody else's gRPC, without a line of ours.</summary>
internal sealed class PeerApplication : IAsyncDisposable
{
    private readonly WebApplication _application;

    private PeerApplication(WebApplication application, RpcEndpoint endpoint)
    {
        _application = application;
        Endpoint = endpoint;
    }

    /// <summary>Where our clients call it.</summary>
    public RpcEndpoint Endpoint { get; }

    public IServiceProvider Services => _application.Services;

    /// <summary>Starts an application with the service of streams.proto.</summary>
    /// <param name="add">Adds further services to the container.</param>
    /// <param name="map">Maps further services.</param>
    /// <param name="socket">The path of its Unix socket; null for TCP.</param>
    /// <param name="certificate">The certificate of TLS; null without TLS.</param>
    public static Task<PeerApplication> StartWordsAsync(
        Action<IServiceCollection>? add = null,
        Action<WebApplication>? map = null,
        string? socket = null,
        X509Certificate2? certificate = null) =>
        StartAsync(
            services =>
            {
                services.AddGrpc(options => options.MaxReceiveMessageSize = 16 * 1024 * 1024);
                services.AddSingleton<WordsService>();
                add?.Invoke(services);
            },
            application =>
            {
                application.MapGrpcService<WordsService>();
                map?.Invoke(application);
            },
            socket, certificate);

    /// <summary>Starts an application.</summary>
    public static async Task<PeerApplication> StartAsync(
        Action<IServiceCollection> add,
        Action<WebApplication> map,
        string? socket = null,
        X509Certificate2? certificate = null)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        add(builder.Services);
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            if (socket is not null)
            {
                kestrel.ListenUnixSocket(socket, Configure);
            }
            else
            {
                kestrel.Listen(IPAddress.Loopback, 0, Configure);
            }
        });
        WebApplication application = builder.Build();
        map(application);
        await application.StartAsync();
        string scheme = certificate is null ? "grpc" : "grpcs";
        return new PeerApplication(application, RpcEndpoint.Parse(
            socket is not null
                ? $"grpc+unix://{socket}"
                : $"{scheme}://127.0.0.1:{new Uri(application.Urls.First()).Port}"));

        void Configure(ListenOptions listen)
        {
            listen.Protocols = HttpProtocols.Http2;
            if (certificate is not null)
            {
                listen.UseHttps(certificate);
            }
        }
    }

    /// <summary>What the methods of <see cref="WordsService"/> saw.</summary>
    public WordsService Words => _application.Services.GetRequiredService<WordsService>();

    public RpcClient Connect(RpcClientOptions? options = null) => RpcClient.Connect(
        Endpoint, WordsServer.Schema, (options ?? new()) with { Service = "streams.Words" });

    public ValueTask DisposeAsync() => _application.DisposeAsync();
}
