using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>A server's certificate that is not to be trusted: one error id and one text for a cause, whatever
/// the transport.</summary>
public static class CertificateErrorTests
{
    private static readonly RpcClientOptions Strict = new();

    [Theory]
    [InlineData("unknown authority", "is not valid: ", "CaCertificates")]
    [InlineData("other name", "its certificate is for another name (CN=other.example)", "ServerName")]
    [InlineData("expired", "is not valid: it expired on ", "Renew the certificate")]
    [InlineData("not valid yet", "is not valid: it is not valid before ", "Renew the certificate")]
    [InlineData(
        "expired, of another name", "its certificate is for another name (CN=other.example); ",
        "ServerName", "renew the certificate")]
    public static async Task A_cause_has_one_id_and_one_text_on_every_transport(
        string cause, string wanted, params string[] remedies)
    {
        using X509Certificate2 certificate = CertificateOf(cause);
        using RpcServer server = Serve(certificate);
        RpcClientOptions options = cause == "unknown authority"
            ? Strict
            : Strict with { Tls = new() { CaCertificates = [certificate] } };

        List<RpcException> errors = [];
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            errors.Add(Assert.Throws<RpcException>(() => Call(endpoint, options)));
            errors.Add(await Assert.ThrowsAsync<RpcException>(() => CallAsync(endpoint, options)));
        }

        Assert.All(errors, error => Assert.Equal("CertificateNotTrusted", error.ErrorId));
        Assert.All(errors, error => Assert.Equal(RpcStatusCode.Unavailable, error.Code));
        Assert.All(errors, error => Assert.False(error.MayHaveExecuted));
        string text = Assert.Single(errors.Select(TextOf).Distinct());
        Assert.Contains(wanted, text, StringComparison.Ordinal);

        // What helps, and nothing that cannot help.
        string[] all = ["CaCertificates", "ServerName", "enew the certificate"];
        Assert.Equal(
            all.Select(remedy => remedies.Any(r => r.EndsWith(remedy, StringComparison.Ordinal))),
            all.Select(remedy => text.Contains(remedy, StringComparison.Ordinal)));
        Assert.Equal(server.Endpoints, errors.Select(error => error.Endpoint).Distinct());
        Assert.Equal(0, server.Counters.Calls);
    }

    [Theory]
    [InlineData("https")]
    [InlineData("grpcs")]
    [InlineData("tcp")]
    public static void A_server_that_changes_its_certificate_is_judged_again(string scheme)
    {
        using X509Certificate2 good = CertificateOf("good");
        using X509Certificate2 bad = CertificateOf("expired");
        RpcClientOptions options = Strict with { Tls = new() { CaCertificates = [good, bad] } };
        RpcServer first = Serve(good);
        RpcEndpoint endpoint =
            first.Endpoints.Single(e => e.Uri.StartsWith(scheme, StringComparison.Ordinal));
        using RpcClient client = RpcClient.Connect(
            endpoint.Uri, SearchServer.Schema, OptionsFor(endpoint, options));
        client.Invoke(client.GetMethod("Search"), Request);
        first.Dispose();

        // A call that follows the last one within a millisecond does not ask whether the connection stands.
        long rested = Environment.TickCount64 + 2;
        Assert.True(SpinWait.SpinUntil(() => Environment.TickCount64 > rested, TimeSpan.FromSeconds(10)));
        using RpcServer second = Serve(bad, endpoint.Uri);
        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Search"), Request));

        Assert.Equal("CertificateNotTrusted", error.ErrorId);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_later_failure_is_not_blamed_on_the_certificate(bool skipsCheck)
    {
        using X509Certificate2 certificate = CertificateOf("expired");
        RpcServer first = Serve(certificate, "https://127.0.0.1:0/");
        RpcEndpoint endpoint = first.Endpoints[0];
        await using RpcClient client = await RpcClient.ConnectAsync(
            endpoint.Uri, SearchServer.Schema,
            new RpcClientOptions { Lazy = true, Tls = new() { SkipCertificateCheck = skipsCheck } });
        Exception? before = await Record.ExceptionAsync(() => client.InvokeAsync("Search", Request));
        Assert.Equal(skipsCheck ? null : "CertificateNotTrusted", (before as RpcException)?.ErrorId);
        Assert.Equal(skipsCheck, before is null);
        await first.DisposeAsync();
        using TcpListener second = new(IPAddress.Loopback, endpoint.Port);
        second.Start();
        using CancellationTokenSource end = new();
        Task alerts = AlertAsync(second, end.Token);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Search", Request));

        Assert.Equal("TlsHandshakeFailed", error.ErrorId);
        await end.CancelAsync();
        await alerts;
    }

    // Answers each connection with the fatal alert handshake_failure.
    private static async Task AlertAsync(TcpListener listener, CancellationToken end)
    {
        byte[] buffer = new byte[16 * 1024];
        while (!end.IsCancellationRequested)
        {
            try
            {
                using TcpClient connection = await listener.AcceptTcpClientAsync(end);
                NetworkStream stream = connection.GetStream();
                _ = await stream.ReadAsync(buffer, end);
                await stream.WriteAsync(Convert.FromHexString("15030300020228"), end);
                connection.Client.Shutdown(SocketShutdown.Send);
                await stream.CopyToAsync(Stream.Null, end);
            }
            catch (Exception e) when (e is IOException or OperationCanceledException)
            {
                // The client has closed the connection, or the test has ended.
            }
        }
    }

    private static DynamicMessage Request { get; } =
        MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""");

    private static RpcServer Serve(X509Certificate2 certificate, params string[] endpoints)
    {
        bool hasTcp = endpoints is [] || endpoints.Any(endpoint => RpcEndpoint.Parse(endpoint).IsNative);
        RpcServerOptions options = new() { Certificate = certificate, UseTls = hasTcp };
        RpcServer server = RpcServer.Create(SearchServer.Schema, null, options.WithHttp())
            .Handle("Search", (_, _) => ValueTask.FromResult<IMessage>(SearchServer.Found("x")));
        foreach (string endpoint in endpoints.Length > 0
            ? endpoints
            : ["https://127.0.0.1:0/", "grpcs://127.0.0.1:0", "tcp://127.0.0.1:0"])
        {
            server.AddEndpoint(endpoint);
        }

        return server.StartListening();
    }

    private static void Call(RpcEndpoint endpoint, RpcClientOptions options)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint.Uri, SearchServer.Schema, OptionsFor(endpoint, options));
        client.Invoke(client.GetMethod("Search"), Request);
    }

    private static async Task CallAsync(RpcEndpoint endpoint, RpcClientOptions options)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint.Uri, SearchServer.Schema, OptionsFor(endpoint, options with { Lazy = true }));
        await client.InvokeAsync(client.GetMethod("Search"), Request);
    }

    private static RpcClientOptions OptionsFor(RpcEndpoint endpoint, RpcClientOptions options) =>
        options with { UseTls = endpoint.Transport == RpcTransport.Tcp };

    private static string TextOf(RpcException error) =>
        error.Message.Replace(error.Endpoint!.ToString(), "ENDPOINT", StringComparison.Ordinal);

    private static X509Certificate2 CertificateOf(string cause)
    {
        string name = cause.Contains("other", StringComparison.Ordinal) ? "other.example" : "localhost";
        (int from, int to) = cause.StartsWith("expired", StringComparison.Ordinal) ? (-3, -1)
            : cause == "not valid yet" ? (1, 3)
            : (-1, 1);
        string[] hosts = name == "localhost" ? [name, "127.0.0.1"] : [name];
        return TestCertificate.Create($"CN={name}", hosts, from, to);
    }
}
