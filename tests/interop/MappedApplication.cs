using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Interop;

/// <summary>A web application with a server mapped into it, on Kestrel's own endpoints: HTTP/1.1, HTTP/2
/// without TLS, both with TLS, and HTTP/2 on a Unix socket.</summary>
internal sealed class MappedApplication : IAsyncDisposable
{
    private readonly WebApplication _application;
    private readonly TlsFiles _files = new();

    private MappedApplication(RpcServer server)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http1);
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http2);
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(_files.Server));
            // Wine has none.
            if (System.Net.Sockets.Socket.OSSupportsUnixDomainSockets)
            {
                kestrel.ListenUnixSocket(Socket, listen => listen.Protocols = HttpProtocols.Http2);
            }
        });
        _application = builder.Build();
        _application.MapProtoRpc(server);
    }

    public string AuthorityFile => _files.AuthorityFile;

    public string Http1 => Urls[0];

    public string Http2 => Urls[1];

    public string Https => Urls[2];

    public string Socket { get; } = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");

    private string[] Urls => [.. _application.Urls];

    /// <summary>Starts an application, which stops the server at its end.</summary>
    public static async Task<MappedApplication> StartAsync(RpcServer server)
    {
        MappedApplication mapped = new(server);
        await mapped._application.StartAsync();
        return mapped;
    }

    /// <summary>An endpoint of gRPC: of <c>tcp</c>, <c>tls</c> or <c>unix</c>.</summary>
    public RpcEndpoint GrpcOn(string kind) => RpcEndpoint.Parse(kind switch
    {
        "tls" => Https.Replace("https", "grpcs", StringComparison.Ordinal),
        "unix" => $"grpc+unix://{Socket}",
        _ => Http2.Replace("http", "grpc", StringComparison.Ordinal),
    });

    public async ValueTask DisposeAsync()
    {
        await _application.DisposeAsync();
        _files.Dispose();
    }
}
