using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Interop;

/// <summary>A web server with a page of clients that run in a browser: their modules, the packages of npm
/// that these import, and the schemas of services.</summary>
internal sealed class WebPage : IAsyncDisposable
{
    private readonly WebApplication _application;

    private WebPage()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        _application = builder.Build();
        _application.UseStaticFiles(FilesOf(Path.Combine(AppContext.BaseDirectory, "node"), ""));
        _application.UseStaticFiles(FilesOf(Packages, "/node_modules"));
    }

    /// <summary>The folder with the packages of npm.</summary>
    public static string Packages { get; } =
        Path.Combine(Tests.Repository.Root, "artifacts", "node_modules");

    /// <summary>The origin of the page, as browsers send it.</summary>
    public string Origin => _application.Urls.Single();

    /// <summary>The page.</summary>
    public string Address => $"{Origin}/web.html";

    /// <param name="schemas">The descriptor sets to serve, with the names of their files.</param>
    public static async Task<WebPage> StartAsync(params (string File, RpcSchema Schema)[] schemas)
    {
        WebPage page = new();
        foreach ((string file, RpcSchema schema) in schemas)
        {
            byte[] set = schema.ToDescriptorSet();
            page._application.MapGet($"/{file}", () => Results.Bytes(set));
        }

        await page._application.StartAsync();
        return page;
    }

    public ValueTask DisposeAsync() => _application.DisposeAsync();

    private static StaticFileOptions FilesOf(string folder, string path) =>
        new() { FileProvider = new PhysicalFileProvider(folder), RequestPath = path };
}
