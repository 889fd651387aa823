using System.Diagnostics;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Http.Tests;

/// <summary>Errors that name what is wrong, on which side, and what can help.</summary>
public static class ErrorTextTests
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    private const string Http = "http://127.0.0.1:0/";
    private const string Grpc = "grpc://127.0.0.1:0";
    private const string InProcess = "inproc://error-texts";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData(Tcp)]
    [InlineData(Http)]
    [InlineData(Grpc)]
    [InlineData(InProcess)]
    public static void A_request_that_is_too_large_for_the_server_names_the_servers_limit(string endpoint)
    {
        using WordsServer server = new(
            endpoint, new RpcServerOptions { Limits = new RpcLimits { MaxMessageBytes = 1000 } });

        RpcException error = Assert.Throws<RpcException>(() => Say(server.Endpoint, new string('x', 5000)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("larger than the server's limit", error.Message, StringComparison.Ordinal);
        Assert.Contains("MaxMessageBytes of the server", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("RpcLimits.", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(Tcp)]
    [InlineData(Http)]
    public static void A_request_that_is_too_large_for_the_client_names_its_own_limit(string endpoint)
    {
        using WordsServer server = new(endpoint);
        RpcClientOptions small = new() { Limits = new RpcLimits { MaxMessageBytes = 1000 } };

        RpcException error = Assert.Throws<RpcException>(
            () => Say(server.Endpoint, new string('x', 5000), small));

        Assert.Contains("the limit is 1,000", error.Message, StringComparison.Ordinal);
        Assert.Contains("RpcLimits.MaxMessageBytes", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(Http)]
    [InlineData(Grpc)]
    [InlineData(InProcess)]
    public static async Task A_deadline_after_replies_says_how_many_came(string endpoint)
    {
        using RpcServer server = RpcServer
            .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .HandleStreaming("Split", async (context, stream) =>
            {
                await stream.SendAsync(WordsServer.Text("one"), compress: false);
                await stream.SendAsync(WordsServer.Text("two"), compress: false);
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            })
            .AddEndpoint(endpoint)
            .StartListening();
        await using RpcClient client = await RpcClient.ConnectAsync(server.Endpoints[0], WordsServer.Schema);
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("streams.Words/Split"),
            new RpcCallOptions { Timeout = TimeSpan.FromSeconds(1) });
        await call.SendAsync(WordsServer.Text("x"));
        await call.CompleteAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            while (await call.ReadAsync())
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Contains("after 2 replies", error.Message, StringComparison.Ordinal);
        Assert.Contains(" within 1 s", error.Message, StringComparison.Ordinal);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_redirect_says_where_to()
    {
        await using BarePeer peer = new(async stream =>
        {
            await ReadSomeAsync(stream);
            await stream.WriteAsync(Encoding.ASCII.GetBytes(
                "HTTP/1.1 301 Moved Permanently\r\nLocation: https://new.example/x\u001B[31m\r\n"
                + "Content-Length: 0\r\nConnection: close\r\n\r\n"));
        });

        RpcException error = Assert.Throws<RpcException>(
            () => Say(RpcEndpoint.Parse($"http://127.0.0.1:{peer.Port}/"), "x"));

        Assert.Contains("HTTP status 301: redirected to 'https://new.example/x", error.Message);
        Assert.Contains("redirects are not followed", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001B', error.Message);
        Assert.False(error.MayHaveExecuted);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task A_silent_gRPC_server_is_given_up_after_the_time_to_connect(bool hasTls)
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");
        await using BarePeer peer = new(
            async stream => await stream.CopyToAsync(Stream.Null),
            hasTls ? ServerTls(certificate, SslApplicationProtocol.Http2) : null);
        RpcClientOptions options = new()
        {
            Limits = new RpcLimits { ConnectTimeout = TimeSpan.FromSeconds(1) },
            Tls = new RpcTlsOptions { CaCertificates = [certificate] },
        };
        long start = Stopwatch.GetTimestamp();

        RpcException error = Assert.Throws<RpcException>(() => Say(
            RpcEndpoint.Parse($"{(hasTls ? "grpcs" : "grpc")}://127.0.0.1:{peer.Port}"), "x", options));

        Assert.Equal("ConnectTimeout", error.ErrorId);
        Assert.Contains("sent nothing for 1 s", error.Message, StringComparison.Ordinal);
        Assert.True(Stopwatch.GetElapsedTime(start) < Patience);
    }

    [Theory]
    [InlineData("https", null)]
    [InlineData("grpcs", null)]
    [InlineData("tcp", null)]
    [InlineData("https", "CN=me")]
    [InlineData("grpcs", "CN=me")]
    public static async Task A_server_that_rejects_the_client_certificate_after_the_handshake_is_recognized(
        string scheme, string? subject)
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");
        using X509Certificate2? own = subject is null ? null : TestCertificate.Create(subject);
        SslServerAuthenticationOptions tls = ServerTls(
            certificate, scheme == "grpcs" ? SslApplicationProtocol.Http2 : SslApplicationProtocol.Http11);

        // As in TLS 1.3: the handshake of the client succeeds, and then the server closes.
        await using BarePeer peer = new(_ => Task.CompletedTask, tls);
        RpcClientOptions options = new()
        {
            UseTls = scheme == "tcp",
            Tls = new RpcTlsOptions { CaCertificates = [certificate], ClientCertificate = own },
        };

        RpcException error = Assert.Throws<RpcException>(() => Say(
            RpcEndpoint.Parse($"{scheme}://127.0.0.1:{peer.Port}"), "x", options));

        Assert.Equal("TlsHandshakeFailed", error.ErrorId);
        Assert.Contains(
            subject is null
                ? "may require a client certificate (RpcTlsOptions.ClientCertificate)"
                : "may reject the client certificate 'CN=me'",
            error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_TLS_server_without_HTTP_2_is_offered_as_https()
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");
        await using BarePeer peer = new(
            async stream => await stream.CopyToAsync(Stream.Null),
            new SslServerAuthenticationOptions { ServerCertificate = certificate });
        RpcClientOptions options = new() { Tls = new RpcTlsOptions { CaCertificates = [certificate] } };

        RpcException error = Assert.Throws<RpcException>(
            () => Say(RpcEndpoint.Parse($"grpcs://127.0.0.1:{peer.Port}"), "x", options));

        Assert.Equal("WrongProtocol", error.ErrorId);
        Assert.Contains($"Use https://127.0.0.1:{peer.Port}/", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(-90, -2, "is not valid: it expired on ")]
    [InlineData(-90, 13, " expires on ")]
    [InlineData(-90, 15, null)]
    [InlineData(-3, 2, null)]
    [InlineData(-5, 1, " expires on ")]
    public static void A_server_warns_when_its_certificate_expires(int from, int to, string? wanted)
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", ["localhost"], from, to);
        List<string> warnings = [];
        RpcServerOptions options = new() { Certificate = certificate, Warned = warnings.Add };

        using (new WordsServer("grpcs://127.0.0.1:0", options))
        {
            Assert.Equal(wanted is null ? 0 : 1, warnings.Count);
        }

        Assert.All(warnings, text => Assert.Contains(wanted!, text, StringComparison.Ordinal));
        Assert.All(warnings, text => Assert.Contains("'CN=localhost'", text, StringComparison.Ordinal));
    }

    [Fact]
    public static async Task A_server_that_does_not_list_its_services_is_an_error_of_list()
    {
        await using BarePeer peer = new(async stream =>
        {
            await ReadSomeAsync(stream);
            await stream.WriteAsync(
                "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"u8.ToArray());
        });

        ClientRun run = await ClientRun.RunAsync(["list", $"http://127.0.0.1:{peer.Port}/"]);

        Assert.NotEqual(0, run.Code);
        Assert.Empty(run.Output);
        Assert.Contains("does not list its services", run.Error, StringComparison.Ordinal);
        Assert.Contains("--schema", run.Error, StringComparison.Ordinal);
    }

    private static void Say(RpcEndpoint endpoint, string text, RpcClientOptions? options = null)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, WordsServer.Schema, (options ?? new()) with { Service = "streams.Words" });
        client.Invoke(client.GetMethod("Say"), WordsServer.Text(text));
    }

    private static async Task ReadSomeAsync(Stream stream) => _ = await stream.ReadAsync(new byte[16 * 1024]);

    private static SslServerAuthenticationOptions ServerTls(
        X509Certificate2 certificate, SslApplicationProtocol protocol) => new()
        {
            ServerCertificate = certificate,
            ApplicationProtocols = [protocol],
        };
}
