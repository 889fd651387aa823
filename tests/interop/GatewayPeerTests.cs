using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Text;

namespace ProtoRpc.Interop;

/// <summary>Gateways between programs of others: a server of the original protocol behind HTTP and gRPC, and
/// an old client before gRPC.</summary>
[PeerCall(
    "Google.ProtocolBuffers.Rpc", "native", PeerSide.Server, PeerCalls.Unary | PeerCalls.Errors
        | PeerCalls.Sessions)]
public static class GatewayPeerTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    // Calls a method with bytes by Python's gRPC, and prints the reply, or the status and its text.
    private const string GrpcCall = """
        import sys, grpc
        call = grpc.insecure_channel(sys.argv[1]).unary_unary(sys.argv[2])
        tenant = ('x-tenant', 'acme')
        try:
            print('reply', call(bytes.fromhex(sys.argv[3]), timeout=30, metadata=[tenant]).hex())
        except grpc.RpcError as e:
            print(e.code().name, e.details())
        """;

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_server_has_a_face_of_http_with_json()
    {
        using Chain chain = await Chain.StartAsync();
        using HttpClient http = new() { BaseAddress = new Uri(chain.Http) };

        Assert.Equal((HttpStatusCode.OK, """{"text":"Hello"}"""), await PostAsync(http, "Hello"));
        string seen = await chain.ReadHeaderAsync();
        (HttpStatusCode status, string failure) = await PostAsync(http, "fail");
        (HttpStatusCode quiet, _) = await PostAsync(http, "quiet");
        (HttpStatusCode other, string wrongId) = await PostAsync(http, "other");

        // Version, the method's name, an id of the gateway, an empty context; what follows are extensions,
        // which the original's parsers skip.
        Assert.StartsWith("1=1 2=53656e64 3=", seen, StringComparison.Ordinal);
        Assert.Contains(" 5=", seen, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.InternalServerError, status);
        Assert.Contains("Cannot save.", failure, StringComparison.Ordinal);
        Assert.True((int)quiet >= 500, $"{quiet}");
        Assert.Equal(HttpStatusCode.InternalServerError, other);
        Assert.Contains("the id of another call", wrongId, StringComparison.Ordinal);
        Assert.Equal((HttpStatusCode.OK, """{"text":"again"}"""), await PostAsync(http, "again"));
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_servers_failure_is_whole_for_our_grpc_client_behind_a_gateway()
    {
        using Chain chain = await Chain.StartAsync();
        using RpcClient caller = RpcClient.Connect(chain.Grpc, ShopSchema.Schema);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => caller.InvokeAsync(ShopSchema.Send, ShopSchema.Text("fail")));
        DynamicMessage large =
            await caller.InvokeAsync(ShopSchema.Send, ShopSchema.Text(new string('x', 50_000)));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal("Cannot save.", error.Message);
        Assert.Equal(50_000, ShopSchema.TextOf(large).Length);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task The_session_of_an_old_server_stays_at_the_gateway()
    {
        using Chain chain = await Chain.StartAsync();
        using RpcClient caller = RpcClient.Connect(chain.Tcp, ShopSchema.Schema, new()
        {
            InterfaceId = ShopSchema.Interface,
        });

        await caller.InvokeAsync(ShopSchema.Send, ShopSchema.Text("context acme"));
        await caller.InvokeAsync(ShopSchema.Send, ShopSchema.Text("again"));

        await chain.ReadHeaderAsync();
        string again = await chain.ReadHeaderAsync();
        byte[] session = [.. Enumerable.Range(0xB0, 16).Select(number => (byte)number)];
        string context = again.Split(' ').Single(field => field.StartsWith("5=", StringComparison.Ordinal));
        Dictionary<int, byte[]> sent = OldClient.Fields(Convert.FromHexString(context[2..]));
        Assert.Equal("acme", caller.CallContext.Get(ShopSchema.Tenant));
        Assert.Equal(session, sent[1]);
        Assert.Equal("acme", Encoding.ASCII.GetString(sent[100]));
        Assert.NotEqual(session, Assert.Single(chain.Gateway.Sessions).Id.ToByteArray());
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_server_that_is_gone_is_unavailable_and_named()
    {
        using Chain chain = await Chain.StartAsync();
        using HttpClient http = new() { BaseAddress = new Uri(chain.Http) };
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(http, "x")).Status);

        chain.EndServer();
        (HttpStatusCode status, string text) = await PostAsync(http, "x");

        Assert.Equal(HttpStatusCode.ServiceUnavailable, status);
        Assert.Contains(chain.Client.Endpoint.ToString(), text, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Two_faces_call_an_old_server_that_serves_one_connection_in_turn()
    {
        using Chain chain = await Chain.StartAsync();
        using HttpClient http = new() { BaseAddress = new Uri(chain.Http) };
        using RpcClient grpc = RpcClient.Connect(chain.Grpc, ShopSchema.Schema);

        for (int i = 0; i < 10; i++)
        {
            Assert.Equal((HttpStatusCode.OK, $$"""{"text":"h{{i}}"}"""), await PostAsync(http, $"h{i}"));
            Assert.Equal(
                $"g{i}",
                ShopSchema.TextOf(await grpc.InvokeAsync(ShopSchema.Send, ShopSchema.Text($"g{i}"))));
        }
    }

    [PeerFact(Peer.ImpacketGrpc)]
    public static async Task Pythons_grpc_client_calls_an_old_server()
    {
        using Chain chain = await Chain.StartAsync();

        Assert.Equal(
            $"reply {Convert.ToHexStringLower(OldClient.Field(1, "Hello"))}",
            await CallAsync(chain, "/shop.Shop/Send", "Hello"));
        Assert.Equal("UNKNOWN Cannot save.", await CallAsync(chain, "/shop.Shop/Send", "fail"));
        Assert.StartsWith(
            "UNIMPLEMENTED", await CallAsync(chain, "/shop.Shop/Sell", "x"), StringComparison.Ordinal);
        string seen = await chain.ReadHeaderAsync();
        Assert.Contains(
            Convert.ToHexStringLower(Encoding.ASCII.GetBytes("x-tenant")), seen, StringComparison.Ordinal);
    }

    [PeerFact(Peer.ImpacketGrpc)]
    public static async Task An_old_client_calls_pythons_grpc_server()
    {
        using GrpcServer server = await GrpcServer.StartAsync(Peer.PythonGrpc);
        using RpcClient client = server.Connect();
        using RpcServer gateway = RpcServer
            .Create(GrpcServer.Schema, "grpc.testing.TestService", interfaceId: ShopSchema.Interface)
            .Forward(client, "grpc.testing.TestService")
            .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
            .StartListening();
        using OldClient old = await OldClient.ConnectAsync(gateway.Endpoints[0]);

        OldReply empty = await old.CallAsync("EmptyCall", []);

        // response_size = 10; response_status = { code = 5, message = "none" }.
        OldReply sized = await old.CallAsync("UnaryCall", OldClient.Field(2, 10));
        OldReply failed = await old.CallAsync(
            "UnaryCall", OldClient.Field(7, [.. OldClient.Field(1, 5), .. OldClient.Field(2, "none")]));
        OldReply streaming = await old.CallAsync("FullDuplexCall", []);

        Assert.True(empty.Success);
        Assert.Empty(empty.Body);
        Assert.True(sized.Success);
        Assert.Equal(10, OldClient.Fields(OldClient.Fields(sized.Body)[1])[2].Length);
        Assert.False(failed.Success);
        Assert.Contains("none", Encoding.UTF8.GetString(failed.Exception!), StringComparison.Ordinal);
        Assert.False(streaming.Success);
    }

    private static async Task<(HttpStatusCode Status, string Text)> PostAsync(HttpClient http, string text)
    {
        using StringContent content = new($$"""{"text":"{{text}}"}""", Encoding.UTF8);
        content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
        using CancellationTokenSource limit = new(Patience);
        using HttpResponseMessage response = await http.PostAsync("shop.Shop/Send", content, limit.Token);
        return (response.StatusCode, await response.Content.ReadAsStringAsync(limit.Token));
    }

    private static async Task<string> CallAsync(Chain chain, string method, string text)
    {
        RpcEndpoint grpc = RpcEndpoint.Parse(chain.Grpc);
        using PeerProcess python = PeerProcess.Start(
            Peers.Python, "-c", GrpcCall, $"127.0.0.1:{grpc.Port}", method,
            Convert.ToHexStringLower(OldClient.Field(1, text)));
        return await python.ReadLineAsync();
    }

    /// <summary>A server of the original, in Python, and a gateway with three protocols before it.</summary>
    private sealed class Chain : IDisposable
    {
        private readonly PeerProcess _peer;
        private bool _isEnded;

        private Chain(PeerProcess peer, RpcClient client, RpcServer gateway)
        {
            _peer = peer;
            Client = client;
            Gateway = gateway;
        }

        public RpcClient Client { get; }

        public RpcServer Gateway { get; }

        public string Http => Gateway.Endpoints[0].ToString();

        public string Grpc => Gateway.Endpoints[1].ToString();

        public string Tcp => Gateway.Endpoints[2].ToString();

        public static async Task<Chain> StartAsync()
        {
            PeerProcess peer = PeerProcess.Start(
                Peers.Python,
                Path.Combine(AppContext.BaseDirectory, "impacket", "old_server.py"),
                ShopSchema.Interface.ToString());
            int port = int.Parse(await peer.ReadLineAsync(), CultureInfo.InvariantCulture);
            RpcClient client = RpcClient.Connect(
                RpcEndpoint.Tcp("127.0.0.1", port), ShopSchema.Schema,
                new() { InterfaceId = ShopSchema.Interface, Lazy = true });
            RpcServer gateway = RpcServer
                .Create(
                    ShopSchema.Schema, "shop.Shop", new RpcServerOptions().WithHttp(), ShopSchema.Interface)
                .Forward(client, "shop.Shop")
                .AddEndpoint("http://127.0.0.1:0/")
                .AddEndpoint("grpc://127.0.0.1:0")
                .AddEndpoint("tcp://127.0.0.1:0")
                .StartListening();
            return new Chain(peer, client, gateway);
        }

        public Task<string> ReadHeaderAsync() => _peer.ReadLineAsync();

        public void EndServer()
        {
            _isEnded = true;
            _peer.Dispose();
        }

        public void Dispose()
        {
            Gateway.Dispose();
            Client.Dispose();
            if (!_isEnded)
            {
                _peer.Dispose();
            }
        }
    }
}
