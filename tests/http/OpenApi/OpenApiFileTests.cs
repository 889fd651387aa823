using System.Net;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using Microsoft.OpenApi;

namespace ProtoRpc.Http.Tests.OpenApi;

/// <summary>The document of OpenAPI that HTTP endpoints serve.</summary>
public static class OpenApiFileTests
{
    private const string Path = "/openapi.json";

    [Theory]
    [InlineData("http://127.0.0.1:0/", "/")]
    [InlineData("http://127.0.0.1:0/rpc/v1", "/rpc/v1")]
    public static async Task It_names_the_address_that_its_paths_follow(string endpoint, string address)
    {
        using SearchServer server = new(endpoint: endpoint);

        (HttpStatusCode status, string type, string text) =
            await server.GetAsync(address.TrimEnd('/') + Path);
        OpenApiDocument document = OpenApiText.Read(text);

        Assert.Equal((HttpStatusCode.OK, "application/json"), (status, type));
        Assert.Equal(address, Assert.Single(document.Servers!).Url);
        Assert.NotEmpty(document.Paths);
        foreach (string path in document.Paths.Keys)
        {
            (HttpStatusCode answer, _, _) =
                await server.PostAsync(address.TrimEnd('/') + path, "text/none", "");
            Assert.Equal(HttpStatusCode.UnsupportedMediaType, answer);
        }

        Assert.Null(document.Security);
    }

    [Fact]
    public static async Task It_names_the_ways_to_authenticate()
    {
        HttpServerSecurity security = new()
        {
            Basic = (_, _) => new(new GenericIdentity("ann")),
            Bearer = (_, _) => new(new GenericIdentity("ann")),
        };
        using SearchServer server = new(new HttpServerOptions { Security = security });

        using HttpRequestMessage request = new(HttpMethod.Get, Path);
        request.Headers.Authorization = new("Bearer", "x");
        using HttpResponseMessage response = await server.Http.SendAsync(request);
        OpenApiDocument document = OpenApiText.Read(await response.Content.ReadAsStringAsync());
        (HttpStatusCode anonymous, _, _) = await server.GetAsync(Path);

        Assert.Equal(["basic", "bearer"], document.Components!.SecuritySchemes!.Keys.Order());
        Assert.All(document.Security!, way => Assert.Single(way));
        Assert.Equal(2, document.Security!.Count);
        Assert.Equal(HttpStatusCode.Unauthorized, anonymous);
    }

    [Fact]
    public static async Task It_names_certificates_of_authorities()
    {
        using X509Certificate2 own = TestCertificate.Create("CN=localhost", "127.0.0.1");
        using SearchServer server = new(
            new HttpServerOptions
            {
                Security = new() { ClientCaCertificates = [own], AllowAnonymous = true },
            },
            new() { Certificate = own },
            "https://127.0.0.1:0/");

        OpenApiDocument document = OpenApiText.Read((await server.GetAsync(Path)).Text);

        Assert.Equal(
            SecuritySchemeType.MutualTLS, Assert.Single(document.Components!.SecuritySchemes!).Value.Type);
    }

    [Theory]
    [InlineData("HEAD", HttpStatusCode.OK)]
    [InlineData("POST", HttpStatusCode.MethodNotAllowed)]
    public static async Task It_is_read_and_not_called(string method, HttpStatusCode wanted)
    {
        using SearchServer server = new();

        using HttpResponseMessage response =
            await server.Http.SendAsync(new HttpRequestMessage(new HttpMethod(method), Path));

        Assert.Equal(wanted, response.StatusCode);
        Assert.Equal(0, server.Server.Counters.Calls);
    }
}
