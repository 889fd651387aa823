using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>What HTTP calls are measured against: the same method as a minimal API of ASP.NET Core,
/// with the code that System.Text.Json generates for its types.</summary>
internal static class MinimalApi
{
    public static (string Address, IDisposable Server) Serve(int records) => Start(
        MinimalApiJson.Default,
        "/test",
        (app, path) => app.MapPost(path, (ApiMessage _) => ApiMessage.Make(records)));

    /// <summary>Starts an application with one path on a free port.</summary>
    public static (string Address, IDisposable Server) Start(
        IJsonTypeInfoResolver types, string path, Action<WebApplication, string> map)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.ConfigureHttpJsonOptions(
            options => options.SerializerOptions.TypeInfoResolverChain.Insert(0, types));
        WebApplication app = builder.Build();
        map(app, path);
        app.StartAsync().GetAwaiter().GetResult();
        IServer server = app.Services.GetRequiredService<IServer>();
        return (server.Features.Get<IServerAddressesFeature>()!.Addresses.First() + path, app);
    }
}

/// <summary>The message of the benchmark.</summary>
internal sealed record ApiMessage(ApiRecord[] Data)
{
    /// <summary>A new one.</summary>
    public static ApiMessage Make(int records)
    {
        ApiRecord[] data = new ApiRecord[records];
        for (int i = 0; i < records; i++)
        {
            (byte[] bytes, string text, long time) = FreshRecords.Next();
            data[i] = new ApiRecord(bytes, text, i, i * 1.5, time);
        }

        return new ApiMessage(data);
    }
}

/// <summary>One record.</summary>
internal sealed record ApiRecord(byte[] Bytes, string Text, int Number, double Float, long Time);

/// <summary>What System.Text.Json generates.</summary>
[JsonSourceGenerationOptions(System.Text.Json.JsonSerializerDefaults.Web)]
[JsonSerializable(typeof(ApiMessage))]
internal sealed partial class MinimalApiJson : JsonSerializerContext;
