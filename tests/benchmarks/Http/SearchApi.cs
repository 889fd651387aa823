using System.Text.Json.Serialization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>What Invoke-RestMethod is measured with: a minimal API that answers a search as JSON, with the
/// same reply as <c>SearchServer</c>.</summary>
internal static class SearchApi
{
    public static (string Address, IDisposable Server) Serve()
    {
        SearchReply reply = new([new("http://example.com/", "An example", ["first words", "second words"])]);
        return MinimalApi.Start(SearchApiJson.Default, "/search", (app, path) => app.MapPost(
            path,
            (SearchRequest request) => request.Query.Length > 0 ? Results.Ok(reply) : Results.BadRequest()));
    }
}

/// <summary>What to look for.</summary>
internal sealed record SearchRequest(string Query, int PageNumber, int ResultPerPage);

/// <summary>What was found.</summary>
internal sealed record SearchReply(SearchHit[] Result);

/// <summary>One hit.</summary>
internal sealed record SearchHit(string Url, string Title, string[] Snippets);

/// <summary>What System.Text.Json generates.</summary>
[JsonSourceGenerationOptions(System.Text.Json.JsonSerializerDefaults.Web)]
[JsonSerializable(typeof(SearchRequest))]
[JsonSerializable(typeof(SearchReply))]
internal sealed partial class SearchApiJson : JsonSerializerContext;
