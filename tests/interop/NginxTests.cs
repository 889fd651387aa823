using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Interop;

/// <summary>Our client and server with nginx between them, for gRPC and for HTTP.</summary>
public sealed class NginxTests(NginxTests.Running running) : IClassFixture<NginxTests.Running>
{
    public static IEnumerable<string> Cases => InteropCases.Names;

    [Theory]
    [PeerData(Peer.Nginx, nameof(Cases))]
    public async Task Passes_gRPC_through(Peer peer, string name)
    {
        Assert.Equal(Peer.Nginx, peer);
        await InteropCases.RunAsync(name, running.Proxy);
    }

    [PeerFact(Peer.Nginx)]
    public void Passes_the_details_of_a_failure_through()
    {
        using RpcClient client = running.Proxy.Connect();
        DynamicMessage request = new MessageMapper().ToMessage(
            client.GetMethod("UnaryCall").RequestType,
            new { response_status = new { code = 8, message = "with details" } });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("UnaryCall"), request));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        DynamicMessage detail = Assert.IsType<DynamicMessage>(Assert.Single(error.Details));
        Assert.Equal("grpc.testing.SimpleResponse", detail.Type.FullName);
        DynamicMessage payload = Assert.IsType<DynamicMessage>(detail.Get(detail.Type.FindField("payload")!));
        Assert.Equal(7, Assert.IsType<byte[]>(payload.Get(payload.Type.FindField("body")!)).Length);
    }

    [PeerFact(Peer.Nginx)]
    public void Passes_a_deadline_to_the_server_and_the_end_to_the_caller()
    {
        using RpcClient client = running.Proxy.Connect();

        RpcException error = Assert.Throws<RpcException>(() => Stream(client, TimeSpan.FromSeconds(0.3)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [PeerFact(Peer.Nginx)]
    public void Ends_TLS_for_a_listener_without()
    {
        using RpcClient client = ConnectTls();

        Assert.Empty(
            client.Invoke(client.GetMethod("EmptyCall"), InteropCases.Message("Empty")).ToByteArray());
        Assert.Equal("Serving", client.Ping().Health);
        Assert.NotNull(client.FetchSchema().GetService("grpc.testing.TestService"));
    }

    [PeerFact(Peer.Nginx)]
    public async Task Passes_calls_at_a_path_to_a_listener_without_one()
    {
        using RpcClient client = ConnectTls("/search");
        using RpcClient wrong = ConnectTls("/other");

        Assert.Empty(
            client.Invoke(client.GetMethod("EmptyCall"), InteropCases.Message("Empty")).ToByteArray());
        Assert.Equal("Serving", (await client.PingAsync()).Health);
        Assert.NotNull((await client.FetchSchemaAsync()).GetService("grpc.testing.TestService"));
        RpcException error = Assert.Throws<RpcException>(
            () => wrong.Invoke(wrong.GetMethod("EmptyCall"), InteropCases.Message("Empty")));
        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [PeerFact(Peer.Nginx)]
    public void Cuts_a_stream_that_pauses_for_longer_than_it_waits()
    {
        using RpcClient client = ConnectTls();

        RpcException error = Assert.Throws<RpcException>(() => Stream(client, TimeSpan.FromSeconds(30)));

        Assert.Contains(error.Code, new[] { RpcStatusCode.Unavailable, RpcStatusCode.Internal });
    }

    [PeerFact(Peer.Nginx)]
    public async Task Tells_callers_of_gRPC_that_nobody_is_behind_it()
    {
        using NginxProxy proxy = await NginxProxy.StartAsync();
        using RpcClient client = proxy.Connect();
        proxy.StopServer();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("EmptyCall"), InteropCases.Message("Empty")));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal("no server behind the proxy", error.Message);
    }

    [PeerFact(Peer.Nginx)]
    public async Task Passes_JSON_and_gRPC_Web_through()
    {
        using HttpClient http = running.Http();
        using StringContent json = new("""{"responseSize":3}""", Encoding.UTF8, "application/json");
        using ByteArrayContent web = new([0, 0, 0, 0, 2, 0x10, 3]);
        web.Headers.ContentType = new MediaTypeHeaderValue("application/grpc-web+proto");

        using HttpResponseMessage first = await http.PostAsync("/grpc.testing.TestService/UnaryCall", json);
        using HttpResponseMessage second = await http.PostAsync("/grpc.testing.TestService/UnaryCall", web);

        Assert.Equal("""{"payload":{"body":"AAAA"}}""", await first.Content.ReadAsStringAsync());
        byte[] body = await second.Content.ReadAsByteArrayAsync();
        Assert.Equal([0, 0, 0, 0, 7, 0x0a, 5, 0x12, 3, 0, 0, 0, 0x80], body[..13]);
        Assert.Contains(
            "grpc-status:0", Encoding.ASCII.GetString(body[17..]).Replace(" ", ""), StringComparison.Ordinal);
    }

    // One reply at once, and one in a minute.
    private static void Stream(RpcClient client, TimeSpan timeout)
    {
        RpcCallOptions options = new() { Timeout = timeout };
        DynamicMessage request = new MessageMapper().ToMessage(
            client.GetMethod("StreamingOutputCall").RequestType,
            new
            {
                response_parameters = new object[]
                {
                    new { size = 1 },
                    new { size = 1, interval_us = 60_000_000 },
                },
            });
        RpcStreamingCall call = client.Open(client.GetMethod("StreamingOutputCall"), options);
        call.SendAsync(request).AsTask().GetAwaiter().GetResult();
        while (call.ReadAsync().AsTask().GetAwaiter().GetResult())
        {
        }
    }

    private RpcClient ConnectTls(string path = "") => RpcClient.Connect(
        $"grpcs://127.0.0.1:{running.Proxy.TlsPort}{path}",
        GrpcServer.Schema,
        new RpcClientOptions
        {
            Service = "grpc.testing.TestService",
            Tls = new() { CaCertificates = [running.Proxy.Tls.Authority], ServerName = TlsFiles.ServerName },
        });

    /// <summary>One proxy for all tests.</summary>
    public sealed class Running : IAsyncLifetime
    {
        private NginxProxy? _proxy;

        internal NginxProxy Proxy => _proxy!;

        public async ValueTask InitializeAsync()
        {
            if (Peers.WhyMissing(Peer.Nginx) is null)
            {
                _proxy = await NginxProxy.StartAsync();
            }
        }

        public ValueTask DisposeAsync()
        {
            _proxy?.Dispose();
            return ValueTask.CompletedTask;
        }

        internal HttpClient Http() => new(new SocketsHttpHandler
        {
            UseProxy = false,
            ConnectCallback = async (_, cancellation) =>
            {
                Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(Proxy.HttpSocket), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            },
        })
        {
            BaseAddress = new Uri("http://localhost/"),
        };
    }
}
