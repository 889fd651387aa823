// What Invoke-RestMethod is measured against: an endpoint that answers a search as JSON.
// Prints "ready ADDRESS" and runs until its standard input ends.
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
WebApplication app = builder.Build();

SearchReply reply = new([new("http://example.com/", "An example", ["first words", "second words"])]);
app.MapPost("/search", (SearchRequest request) => request.Query.Length > 0
    ? Results.Ok(reply)
    : Results.BadRequest());

await app.StartAsync();
ICollection<string> addresses = app.Services.GetRequiredService<IServer>()
    .Features.Get<IServerAddressesFeature>()!.Addresses;
Console.WriteLine($"ready {addresses.First()}");
await Console.In.ReadToEndAsync();
await app.StopAsync();

/// <summary>What to look for.</summary>
internal sealed record SearchRequest(string Query, int PageNumber, int ResultPerPage);

/// <summary>What was found.</summary>
internal sealed record SearchReply(SearchHit[] Result);

/// <summary>One hit.</summary>
internal sealed record SearchHit(string Url, string Title, string[] Snippets);
