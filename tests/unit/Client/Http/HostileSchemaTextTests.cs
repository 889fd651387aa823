using System.Diagnostics;
using System.Net;

namespace ProtoRpc.Tests.Client.Http;

/// <summary>What an HTTP server sends in place of .proto files.</summary>
public static class HostileSchemaTextTests
{
    [Fact]
    public static void A_text_of_blank_lines_is_read_in_time()
    {
        string text = new string('\n', 300_000) + "oops";
        Stopwatch watch = Stopwatch.StartNew();

        RpcException e = Assert.Throws<RpcException>(() => Load(text));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(20));
    }

    [Theory]
    [InlineData("http://[")]
    [InlineData("//")]
    [InlineData("http://host.test:99999/x.proto")]
    public static void An_import_that_is_no_address_is_named(string import)
    {
        RpcException e = Assert.Throws<RpcException>(() => Load($"import \"{import}\";\n"));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains($"'{import}'", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://host.test/b.proto")]
    [InlineData("http://host.test:443/b.proto")]
    [InlineData("https://host.test:8443/b.proto")]
    [InlineData("https://other.test/b.proto")]
    [InlineData("//other.test/b.proto")]
    public static void An_import_of_another_server_or_scheme_gets_no_token(string import)
    {
        List<HttpRequestMessage> sent = [];
        RpcClientOptions options = new()
        {
            HttpHandler = () => new OneFile($"import \"{import}\";\n", sent),
            Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = "t0ken" },
        };

        RpcException e = Assert.Throws<RpcException>(
            () => RpcHttpSchema.Load(new Uri("https://host.test/a.proto"), options));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        HttpRequestMessage request = Assert.Single(sent);
        Assert.Equal("https://host.test/a.proto", request.RequestUri!.ToString());
        Assert.Equal("Bearer t0ken", request.Headers.Authorization?.ToString());
    }

    [Fact]
    public static void An_import_may_name_the_same_server()
    {
        List<HttpRequestMessage> sent = [];
        RpcClientOptions options = new()
        {
            HttpHandler = () => new OneFile("import \"https://HOST.test:443/b.proto\";\n", sent),
        };

        Assert.Throws<RpcException>(() => RpcHttpSchema.Load(new Uri("https://host.test/a.proto"), options));

        Assert.Contains(sent, request => request.RequestUri!.AbsolutePath == "/b.proto");
    }

    private static RpcSchema Load(string text) => RpcHttpSchema.Load(
        new Uri("http://host.test/a.proto"),
        new RpcClientOptions { HttpHandler = () => new OneFile(text) });

    private sealed class OneFile(string text, List<HttpRequestMessage>? sent = null) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            sent?.Add(request);
            return Task.FromResult(request.RequestUri!.AbsolutePath == "/a.proto"
                ? new HttpResponseMessage { Content = new StringContent(text), RequestMessage = request }
                : new HttpResponseMessage(HttpStatusCode.NotFound) { RequestMessage = request });
        }
    }
}
