using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Calls to addresses with several hosts, and to names as other gRPC clients write them.</summary>
public sealed class SeveralHostsTests : IDisposable
{
    private readonly X509Certificate2 _certificate =
        TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");

    public void Dispose() => _certificate.Dispose();

    [Fact]
    public void Calls_go_to_the_first_server_that_can_be_reached()
    {
        using WordsServer first = new();
        using WordsServer second = new();
        string address = $"grpc://127.0.0.1:{first.Endpoint.Port},localhost:{second.Endpoint.Port}";
        using RpcClient client = Connect(address);

        Say(client, "a");
        Say(client, "b");
        Assert.Equal((2L, 0L), (first.Server.Counters.Calls, second.Server.Counters.Calls));
        first.Server.Dispose();

        Assert.Equal("c", Say(client, "c"));
        Assert.Equal(1, second.Server.Counters.Calls);
        Assert.Equal(address, client.Endpoint.ToString());
        Assert.Equal([client.Endpoint], client.Endpoints);
    }

    [Fact]
    public void Calls_take_turns_where_the_client_asks_for_it()
    {
        using WordsServer first = new("grpc://127.0.0.1:0/api");
        using WordsServer second = new("grpc://127.0.0.1:0/api");
        RpcEndpoint address = RpcEndpoint.Parse(
            $"grpc://127.0.0.1:{first.Endpoint.Port},127.0.0.1:{second.Endpoint.Port}/api");
        using RpcClient client = RpcClient.Connect(
            [address], RpcLoadBalancing.RoundRobin, WordsServer.Schema, new() { Service = "streams.Words" });

        for (int i = 0; i < 4; i++)
        {
            Say(client, "x");
        }

        Assert.Equal((2L, 2L), (first.Server.Counters.Calls, second.Server.Counters.Calls));
    }

    [Fact]
    public void An_error_names_the_servers()
    {
        using ClosedPort first = new();
        using ClosedPort second = new();

        RpcException error = Assert.Throws<RpcException>(
            () => Connect($"grpc://127.0.0.1:{first.Number},127.0.0.1:{second.Number}"));

        Assert.Equal(RpcErrorIds.NoServerReached, error.ErrorId);
        Assert.Contains($"{first.Number}", error.Message, StringComparison.Ordinal);
        Assert.Contains($"{second.Number}", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("dns:///localhost:{0}")]
    [InlineData("dns:localhost:{0}")]
    [InlineData("ipv4:127.0.0.1:{0}")]
    [InlineData("ipv4:127.0.0.1:{1},127.0.0.1:{0}")]
    public void Names_of_gRPC_lead_to_servers_with_TLS(string name)
    {
        using WordsServer server = new("grpcs://localhost:0", new() { Certificate = _certificate });
        using ClosedPort closed = new();
        using RpcClient client = Connect(
            string.Format(null, name, server.Endpoint.Port, closed.Number),
            new() { Tls = new() { CaCertificates = [_certificate] } });

        Assert.Equal("x", Say(client, "x"));
    }

    [Fact]
    public void A_name_of_a_server_without_TLS_says_what_to_write()
    {
        using WordsServer server = new();

        RpcException error = Assert.Throws<RpcException>(
            () => Connect($"dns:///localhost:{server.Endpoint.Port}"));

        Assert.Equal(RpcErrorIds.WrongProtocol, error.ErrorId);
        Assert.Contains("grpc://", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_name_can_be_the_path_of_a_socket()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string path = $"/{folder.FullName.Replace('\\', '/').TrimStart('/')}/s";
            using WordsServer server = new($"unix://{path}");
            using RpcClient client = Connect($"unix:{path}");

            Assert.Equal("x", Say(client, "x"));
            Assert.Equal($"grpc+unix://{path}", client.Endpoint.ToString());
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public async Task Abstract_sockets_are_called_on_Linux()
    {
        string name = $"protorpc-{Guid.NewGuid():N}";
        if (!OperatingSystem.IsLinux())
        {
            RpcException error = Assert.Throws<RpcException>(() => Connect($"unix-abstract:{name}"));
            Assert.Equal(RpcErrorIds.TransportNotSupported, error.ErrorId);
            return;
        }

        using WordsServer server = new();
        using Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint($"\0{name}"));
        socket.Listen();
        Task relay = RelayAsync(socket, server.Endpoint.Port);

        using (RpcClient client = Connect($"unix-abstract:{name}"))
        {
            // With a token, the client also checks the account that listens.
            RpcCallOptions options = new() { Headers = new() { { "authorization", "Bearer t" } } };
            Assert.Equal("x", Say(client, "x"));
            Assert.Equal("y", WordsServer.TextOf(client.Invoke("Say", WordsServer.Text("y"), options)));
        }

        socket.Dispose();
        await relay.WaitAsync(TimeSpan.FromSeconds(20));
    }

    [Fact]
    public void An_abstract_socket_that_nobody_has_is_reported()
    {
        if (OperatingSystem.IsLinux())
        {
            RpcException none = Assert.Throws<RpcException>(
                () => Connect($"unix-abstract:protorpc-{Guid.NewGuid():N}"));
            RpcException tooLong = Assert.Throws<RpcException>(
                () => Connect($"unix-abstract:{new string('x', 200)}"));

            Assert.Equal(RpcStatusCode.Unavailable, none.Code);
            Assert.Contains("nothing listens there", none.Message, StringComparison.Ordinal);
            Assert.Equal(RpcErrorIds.EndpointNameTooLong, tooLong.ErrorId);
        }
    }

    private static RpcClient Connect(string endpoint, RpcClientOptions? options = null) => RpcClient.Connect(
        endpoint, WordsServer.Schema, (options ?? new()) with { Service = "streams.Words" });

    private static string Say(RpcClient client, string text) =>
        WordsServer.TextOf(client.Invoke("Say", WordsServer.Text(text)));

    private static async Task RelayAsync(Socket listener, int port)
    {
        List<Socket> open = [];
        try
        {
            while (true)
            {
                Socket client = await listener.AcceptAsync();
                Socket target = new(SocketType.Stream, ProtocolType.Tcp);
                open.AddRange([client, target]);
                await target.ConnectAsync(IPAddress.Loopback, port);
                _ = CopyAsync(client, target);
                _ = CopyAsync(target, client);
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            open.ForEach(socket => socket.Dispose());
        }
    }

    private static async Task CopyAsync(Socket from, Socket to)
    {
        try
        {
            await using NetworkStream source = new(from);
            await using NetworkStream target = new(to);
            await source.CopyToAsync(target);
            to.Shutdown(SocketShutdown.Send);
        }
        catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
        {
            // One of the two has gone.
        }
    }
}
