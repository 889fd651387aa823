using System.Text.Json.Serialization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>What HTTP calls are measured against: the same method as a minimal API of ASP.NET Core,
/// with the code that System.Text.Json generates for its types.</summary>
internal static class MinimalApi
{
    public static (string Address, IDisposable Server) Serve(int records)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.ConfigureHttpJsonOptions(
            options => options.SerializerOptions.TypeInfoResolverChain.Insert(0, MinimalApiJson.Default));
        WebApplication app = builder.Build();
        ApiMessage reply = MessageOf(records);
        app.MapPost(
            "/test",
            (ApiMessage request) => request.Data.Length >= 0 ? Results.Ok(reply) : Results.BadRequest());
        app.StartAsync().GetAwaiter().GetResult();
        IServer server = app.Services.GetRequiredService<IServer>();
        string address = server.Features.Get<IServerAddressesFeature>()!.Addresses.First();
        return ($"{address}/test", app);
    }

    private static ApiMessage MessageOf(int records) => new(
    [
        .. SampleData.Request(records).Data.Select(
            record => new ApiRecord(
                record.Bytes.ToByteArray(), record.Text, record.Number, record.Float, record.Time)),
    ]);
}

/// <summary>The message of the benchmark.</summary>
internal sealed record ApiMessage(ApiRecord[] Data);

/// <summary>One record; ProtoJSON has 64-bit numbers in quotes.</summary>
internal sealed record ApiRecord(
    byte[] Bytes,
    string Text,
    int Number,
    double Float,
    [property: JsonNumberHandling(
        JsonNumberHandling.AllowReadingFromString | JsonNumberHandling.WriteAsString)]
    long Time);

/// <summary>What System.Text.Json generates.</summary>
[JsonSourceGenerationOptions(System.Text.Json.JsonSerializerDefaults.Web)]
[JsonSerializable(typeof(ApiMessage))]
internal sealed partial class MinimalApiJson : JsonSerializerContext;
