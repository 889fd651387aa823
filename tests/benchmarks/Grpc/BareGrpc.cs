using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace ProtoRpc.Benchmarks.Grpc;

/// <summary>The least that Kestrel does for a call over gRPC:
/// the request's frame goes back as it came.</summary>
internal sealed class BareGrpc : IDisposable
{
    private readonly WebApplication _application;

    public BareGrpc()
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(
            kestrel =>
                kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http2));
        _application = builder.Build();
        _application.Run(EchoAsync);
        _application.StartAsync().GetAwaiter().GetResult();
    }

    public RpcEndpoint Endpoint =>
        RpcEndpoint.Parse($"grpc://127.0.0.1:{new Uri(_application.Urls.First()).Port}");

    public void Dispose() => _application.DisposeAsync().AsTask().GetAwaiter().GetResult();

    private static async Task EchoAsync(HttpContext http)
    {
        PipeReader reader = http.Request.BodyReader;
        ReadResult result = await reader.ReadAsync();
        while (!result.IsCompleted)
        {
            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
            result = await reader.ReadAsync();
        }

        http.Response.ContentType = "application/grpc";
        foreach (ReadOnlyMemory<byte> segment in result.Buffer)
        {
            http.Response.BodyWriter.Write(segment.Span);
        }

        reader.AdvanceTo(result.Buffer.End);
        http.Response.AppendTrailer("grpc-status", "0");
    }
}
