using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Servers of other protocols, or with certificates that are not trusted: told at once,
/// and by name.</summary>
public static class WrongServerTests
{
    private static readonly RpcSchema Schema = RpcSchema.FromDescriptors(HealthReflection.Descriptor);

    [Fact]
    public static void A_server_that_wants_TLS_is_told_from_its_alert() =>
        Fails("grpc", "15 03 01 00 02 02 46", "it speaks TLS. Use grpcs://127.0.0.1:");

    [Fact]
    public static void A_web_server_is_told_from_its_answer() => Fails(
        "grpc", Convert.ToHexString("HTTP/1.1 400 Bad Request\r\n\r\n"u8),
        "HTTP/1 ('HTTP/1.1 400 Bad Request')");

    [Fact]
    public static void A_server_without_TLS_is_told_from_its_settings() =>
        Fails("grpcs", "00 00 00 04 00 00 00 00 00", "HTTP/2 without TLS. Use grpc://127.0.0.1:");

    [Fact]
    public static void A_web_server_without_TLS_is_told() => Fails(
        "grpcs", Convert.ToHexString("HTTP/1.1 400 Bad Request\r\n\r\n"u8), "plain HTTP/1");

    [Fact]
    public static void Another_server_is_told() => Fails("grpc", "05 00 02 03", "does not speak HTTP/2");

    [Theory]
    [InlineData("grpc", "may require TLS (grpcs://")]
    [InlineData("grpcs", "may not speak TLS (grpc://")]
    public static void A_server_that_hangs_up_is_told(string scheme, string wanted) =>
        Fails(scheme, "", wanted);

    [Fact]
    public static async Task A_certificate_that_nobody_vouches_for_is_refused()
    {
        using X509Certificate2 certificate = Certificate();
        await using Http2Peer peer = new(Serve, certificate);

        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(peer.Endpoint, Schema));

        Assert.Equal("CertificateNotTrusted", error.ErrorId);
        Assert.Contains("RpcTlsOptions.SkipCertificateCheck", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_certificate_with_another_name_needs_that_name()
    {
        using X509Certificate2 certificate = Certificate();
        await using Http2Peer peer = new(Serve, certificate);
        RpcTlsOptions tls = new() { CaCertificates = [certificate] };

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(peer.Endpoint, Schema, new RpcClientOptions { Tls = tls }));

        Assert.Contains("another name (CN=rpc.test)", error.Message, StringComparison.Ordinal);
        Check(peer, tls with { ServerName = "rpc.test" });
        Check(peer, new RpcTlsOptions { SkipCertificateCheck = true });
    }

    // One that has only other protocols refuses the handshake by an alert.
    [Theory]
    [InlineData("http/1.1")]
    [InlineData(null)]
    public static async Task A_TLS_server_without_HTTP2_is_told(string? protocol)
    {
        using X509Certificate2 certificate = Certificate();
        await using Http2Peer peer = new(Serve, certificate, protocol);
        RpcClientOptions options = new() { Tls = new RpcTlsOptions { SkipCertificateCheck = true } };

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(peer.Endpoint, Schema, options));

        Assert.Equal((RpcStatusCode.Unavailable, "WrongProtocol"), (error.Code, error.ErrorId));
        Assert.Contains("does not offer HTTP/2 (ALPN h2)", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("client certificate", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_socket_that_is_not_there_is_told()
    {
        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect("grpc+unix:///tmp/no.such.socket"));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("there is no socket", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_call_can_wait_for_the_server()
    {
        await using Http2Peer first = new(Serve);
        using RpcClient client = RpcClient.Connect(first.Endpoint, Schema);
        await first.DisposeAsync();
        RpcMethodInfo check = client.GetMethod("Check");

        Assert.Throws<RpcException>(() => client.Invoke(check, new HealthCheckRequest()));
        RpcException late = Assert.Throws<RpcException>(() => client.Invoke(
            check, new HealthCheckRequest(),
            new RpcCallOptions { WaitForReady = true, Timeout = TimeSpan.FromSeconds(0.5) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        Assert.False(late.MayHaveExecuted);
        Assert.Contains("the call did not run", late.Message, StringComparison.Ordinal);
    }

    private static async Task Serve(Http2PeerConnection peer, int stream)
    {
        await peer.SendGoodHeadersAsync(stream);
        await peer.SendDataAsync(stream, [0, 0, 0, 0, 2, 8, 1]);
        await peer.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
    }

    private static void Check(Http2Peer peer, RpcTlsOptions tls)
    {
        using RpcClient client = RpcClient.Connect(peer.Endpoint, Schema, new RpcClientOptions { Tls = tls });
        Assert.Equal("Serving", client.Ping().Health);
    }

    private static X509Certificate2 Certificate() => TestCertificate.Create("CN=rpc.test", "rpc.test");

    // Says those bytes to who connects first, and hangs up; the probes for its protocol are refused, and so
    // wait for no answer.
    private static void Fails(string scheme, string hex, string wanted)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        byte[] bytes = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        Task serving = Task.Run(async () =>
        {
            using TcpClient client = await listener.AcceptTcpClientAsync();
            listener.Stop();
            NetworkStream stream = client.GetStream();
            await stream.ReadAtLeastAsync(new byte[1024], 1);
            await stream.WriteAsync(bytes);
            client.Client.Shutdown(SocketShutdown.Send);

            // To the end, for closing with bytes unread would take back what was said.
            try
            {
                await stream.CopyToAsync(Stream.Null);
            }
            catch (IOException)
            {
            }
        });

        RpcException error = Assert.Throws<RpcException>(() =>
        {
            using RpcClient client = RpcClient.Connect($"{scheme}://127.0.0.1:{port}", Schema);
            client.Invoke(client.GetMethod("Check"), new HealthCheckRequest());
        });

        Assert.True(error.ErrorId == "WrongProtocol", error.ToString());
        Assert.Contains(wanted, error.Message, StringComparison.Ordinal);
        Assert.True(serving.Wait(TimeSpan.FromSeconds(20)));
    }
}
