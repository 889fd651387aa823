using System.Net;
using System.Net.Http.Headers;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Security;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Spnego;

namespace ProtoRpc.Http.Tests;

/// <summary>NTLM over HTTPS counts for the TLS connection that the client sees.</summary>
public static class ChannelBindingTests
{
    private const string Who = "/ProtoService.SearchService/Who?query=x";

    private static readonly NetworkCredential Bob = new("bob", "Pa55word", "CORP");

    [Fact]
    public static async Task A_client_of_another_server_is_not_served_here()
    {
        using X509Certificate2 mine = TestCertificate.Create("CN=mine");
        using X509Certificate2 theirs = TestCertificate.Create("CN=theirs");
        using SearchServer server = NewServer(RpcAuthentication.Ntlm, mine);
        using TlsRelay relay = new(theirs, server.Endpoint.Port);

        HttpStatusCode direct = await AskAsync(server.Endpoint.Port);
        HttpStatusCode relayed = await AskAsync(relay.Port);

        Assert.Equal(HttpStatusCode.OK, direct);
        Assert.Equal(HttpStatusCode.Unauthorized, relayed);
        server.Server.RequireCounts(counts => counts.Calls == 1);
    }

    // A proxy that ends TLS is one more such server, and clients that know no bindings go through it.
    [Fact]
    public static async Task A_client_that_sends_no_binding_is_served()
    {
        using X509Certificate2 mine = TestCertificate.Create("CN=mine");
        using X509Certificate2 theirs = TestCertificate.Create("CN=theirs");
        using SearchServer server = NewServer(RpcAuthentication.Ntlm, mine);
        using TlsRelay relay = new(theirs, server.Endpoint.Port);
        using NtlmClientContext client = new(NtlmCredential.From(Bob), new NtlmClientOptions());

        Assert.Equal(HttpStatusCode.OK, await ProveAsync(relay.Port, "NTLM", client));
    }

    // By a client of ours: that of .NET negotiates NTLM only with the library of the system.
    [Theory]
    [InlineData(true, HttpStatusCode.OK)]
    [InlineData(false, HttpStatusCode.Unauthorized)]
    public static async Task Negotiated_NTLM_is_bound_as_well(bool isSame, HttpStatusCode expected)
    {
        using X509Certificate2 mine = TestCertificate.Create("CN=mine");
        using X509Certificate2 theirs = TestCertificate.Create("CN=theirs");
        using SearchServer server = NewServer(RpcAuthentication.Negotiate, mine);
        byte[] binding = NtlmCrypto.BindingHash(TlsEndPoint.BindingOf(isSame ? mine : theirs));
        using SpnegoClientContext client = new(
        [
            new SpnegoMechanism(SpnegoOid.Ntlm, () => new NtlmClientContext(
                NtlmCredential.From(Bob), new NtlmClientOptions { ChannelBinding = binding })),
        ]);

        Assert.Equal(expected, await ProveAsync(server.Endpoint.Port, "Negotiate", client));
    }

    [Fact]
    public static async Task The_binding_is_that_of_the_certificate_a_connection_was_opened_with()
    {
        using X509Certificate2 first = TestCertificate.Create("CN=first");
        using X509Certificate2 second = TestCertificate.Create("CN=second");
        using SearchServer server = NewServer(RpcAuthentication.Ntlm, first);

        HttpStatusCode before = await AskAsync(server.Endpoint.Port);
        await server.Server.ChangeAsync(new() { Certificate = second });
        HttpStatusCode after = await AskAsync(server.Endpoint.Port);

        Assert.Equal(HttpStatusCode.OK, before);
        Assert.Equal(HttpStatusCode.OK, after);
    }

    private static SearchServer NewServer(
        RpcAuthentication authentication, X509Certificate2 certificate) => new(
        options: new RpcServerOptions
        {
            Certificate = certificate,
            Security = new RpcServerSecurity
            {
                Authentication = authentication,
                NtlmAccounts = [NtlmAccount.From(Bob)],
            },
        },
        endpoint: "https://127.0.0.1:0/");

    private static async Task<HttpStatusCode> AskAsync(int port)
    {
        using HttpClient http = NewClient(Bob);
        using HttpResponseMessage response = await http.GetAsync(AddressOf(port));
        return response.StatusCode;
    }

    private static async Task<HttpStatusCode> ProveAsync(int port, string scheme, SecurityContext client)
    {
        using HttpClient http = NewClient();
        using HttpResponseMessage challenged = await SendAsync(http, port, scheme, client.Step([]));
        byte[] challenge = Convert.FromBase64String(challenged.Headers.WwwAuthenticate.Single().Parameter!);
        using HttpResponseMessage proved = await SendAsync(http, port, scheme, client.Step(challenge));
        return proved.StatusCode;
    }

    // All on one connection, since nobody else uses the client.
    private static async Task<HttpResponseMessage> SendAsync(
        HttpClient http, int port, string scheme, byte[] token)
    {
        using HttpRequestMessage request = new(HttpMethod.Get, AddressOf(port));
        request.Headers.Authorization = new AuthenticationHeaderValue(scheme, Convert.ToBase64String(token));
        HttpResponseMessage response = await http.SendAsync(request);
        await response.Content.LoadIntoBufferAsync();
        return response;
    }

    private static Uri AddressOf(int port) => new($"https://127.0.0.1:{port}{Who}");

    private static HttpClient NewClient(NetworkCredential? credential = null) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        Credentials = credential,
        SslOptions = { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
    });

    /// <summary>Ends TLS with a certificate of its own, and sends what comes to another server.</summary>
    private sealed class TlsRelay : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
        private readonly CancellationTokenSource _stopped = new();
        private readonly X509Certificate2 _certificate;
        private readonly int _target;

        public TlsRelay(X509Certificate2 certificate, int target)
        {
            (_certificate, _target) = (certificate, target);
            _listener.Start();
            _ = AcceptAsync();
        }

        public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

        public void Dispose()
        {
            _stopped.Cancel();
            _listener.Dispose();
            _stopped.Dispose();
        }

        private async Task AcceptAsync()
        {
            CancellationToken stopped = _stopped.Token;
            while (!stopped.IsCancellationRequested)
            {
                TcpClient client = await _listener.AcceptTcpClientAsync(stopped);
                _ = ServeAsync(client, stopped);
            }
        }

        private async Task ServeAsync(TcpClient client, CancellationToken stopped)
        {
            using TcpClient connection = client;
            await using SslStream near = new(connection.GetStream());
            await near.AuthenticateAsServerAsync(
                new SslServerAuthenticationOptions { ServerCertificate = _certificate }, stopped);
            using TcpClient server = new();
            await server.ConnectAsync(IPAddress.Loopback, _target, stopped);
            await using SslStream far = new(server.GetStream(), false, static (_, _, _, _) => true);
            await far.AuthenticateAsClientAsync(
                new SslClientAuthenticationOptions { TargetHost = "localhost" }, stopped);
            await Task.WhenAny(near.CopyToAsync(far, stopped), far.CopyToAsync(near, stopped));
        }
    }
}
