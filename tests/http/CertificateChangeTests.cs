using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>A server replaces its certificate while it listens.</summary>
public static class CertificateChangeTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("https://127.0.0.1:0/")]
    [InlineData("grpcs://127.0.0.1:0")]
    [InlineData("tcp://127.0.0.1:0")]
    public static async Task New_connections_get_the_new_one_and_open_ones_go_on(string endpoint)
    {
        using X509Certificate2 old = NewCertificate("old");
        using X509Certificate2 replaced = NewCertificate("new");
        TaskCompletionSource began = new(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource goesOn = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using RpcServer server = Serve(old, [endpoint], async request =>
        {
            if (request == "slow")
            {
                began.SetResult();
                await goesOn.Task;
            }
        });
        using RpcClient first = Connect(server.Endpoints[0], old);
        Task<DynamicMessage> running = first.InvokeAsync(first.GetMethod("Search"), Request("slow"));
        await began.Task.WaitAsync(Patience);

        await server.ChangeAsync(new() { Certificate = replaced });

        Assert.Equal(replaced.Thumbprint, await ShownByAsync(server.Endpoints[0]));
        using RpcClient second = Connect(server.Endpoints[0], replaced);
        await second.InvokeAsync(second.GetMethod("Search"), Request("x"));
        Assert.Throws<RpcException>(() => Connect(server.Endpoints[0], old));
        goesOn.SetResult();
        await running.WaitAsync(Patience);
    }

    [Fact]
    public static async Task All_endpoints_show_it_and_those_that_are_added_and_it_can_be_replaced_again()
    {
        using X509Certificate2 old = NewCertificate("old");
        using X509Certificate2 next = NewCertificate("next");
        using X509Certificate2 last = NewCertificate("last");
        using RpcServer server = Serve(
            old, ["https://127.0.0.1:0/", "grpcs://127.0.0.1:0", "tcp://127.0.0.1:0", "http://127.0.0.1:0/"]);
        RpcEndpoint[] before = [.. server.Endpoints];

        await server.ChangeAsync(new()
        {
            Certificate = next,
            Endpoints = [.. before, RpcEndpoint.Parse("grpcs://127.0.0.1:0")],
        });

        Assert.Equal(before, server.Endpoints.Take(4));
        foreach (RpcEndpoint endpoint in server.Endpoints.Where(HasTls))
        {
            Assert.Equal(next.Thumbprint, await ShownByAsync(endpoint));
        }

        await server.ChangeAsync(new() { Certificate = last });
        await server.ChangeAsync(new()
        {
            Endpoints = [.. server.Endpoints.Skip(1), RpcEndpoint.Parse("https://127.0.0.1:0/")],
        });
        foreach (RpcEndpoint endpoint in server.Endpoints.Where(HasTls))
        {
            Assert.Equal(last.Thumbprint, await ShownByAsync(endpoint));
        }
    }

    [Fact]
    public static async Task Two_endpoints_of_a_port_show_the_same()
    {
        using X509Certificate2 old = NewCertificate("old");
        using X509Certificate2 replaced = NewCertificate("new");
        using RpcServer server = Serve(old, ["https://127.0.0.1:0/"]);
        RpcEndpoint grpc = RpcEndpoint.Parse($"grpcs://127.0.0.1:{server.Endpoints[0].Port}");
        await server.ChangeAsync(new() { Endpoints = [server.Endpoints[0], grpc] });

        await server.ChangeAsync(new() { Certificate = replaced });

        Assert.Equal(replaced.Thumbprint, await ShownByAsync(grpc));
        using RpcClient client = Connect(grpc, replaced);
        client.Invoke(client.GetMethod("Search"), Request("x"));
    }

    [Fact]
    public static async Task Servers_that_share_an_endpoint_share_its_certificate()
    {
        using X509Certificate2 old = NewCertificate("old");
        using X509Certificate2 replaced = NewCertificate("new");
        using RpcServer one = Serve(old, ["tcp://127.0.0.1:0"]);
        using RpcServer other = Serve(
            old, [one.Endpoints[0].ToString()], interfaceId: Guid.NewGuid());

        await other.ChangeAsync(new() { Certificate = replaced });

        Assert.Equal(replaced.Thumbprint, await ShownByAsync(one.Endpoints[0]));
        using RpcClient client = Connect(one.Endpoints[0], replaced);
        client.Invoke(client.GetMethod("Search"), Request("x"));
    }

    [Fact]
    public static async Task The_names_of_the_new_one_are_names_of_a_loopback_endpoint()
    {
        using X509Certificate2 old = NewCertificate("old", "one.example");
        using X509Certificate2 replaced = NewCertificate("new", "two.example");
        using RpcServer server = Serve(old, ["https://127.0.0.1:0/"]);
        Assert.Equal(403, await StatusOfAsync(server.Endpoints[0], "two.example"));

        await server.ChangeAsync(new() { Certificate = replaced });

        Assert.NotEqual(403, await StatusOfAsync(server.Endpoints[0], "two.example"));
        Assert.Equal(403, await StatusOfAsync(server.Endpoints[0], "one.example"));
    }

    [Theory]
    [InlineData("no key", "MissingCertificate", "has no private key")]
    [InlineData("client", "InvalidCertificate", "server authentication")]
    [InlineData("disposed", "InvalidCertificate", "disposed")]
    [InlineData("taken", "EndpointInUse", "in use")]
    public static async Task A_mistake_changes_nothing(string mistake, string errorId, string text)
    {
        using X509Certificate2 old = NewCertificate("old");
        using X509Certificate2 good = NewCertificate("new");
        using X509Certificate2 bad = mistake switch
        {
            "no key" => X509CertificateLoader.LoadCertificate(good.RawData),
            "client" => NewCertificate("new", usage: "1.3.6.1.5.5.7.3.2"),
            "disposed" => Disposed(),
            _ => NewCertificate("new"),
        };
        using TcpListener taken = new(System.Net.IPAddress.Loopback, 0);
        taken.Start();
        using RpcServer server = Serve(old, ["https://127.0.0.1:0/", "tcp://127.0.0.1:0"]);
        RpcServerChange change = new() { Certificate = bad };
        if (mistake == "taken")
        {
            int port = ((System.Net.IPEndPoint)taken.LocalEndpoint).Port;
            change = change with
            {
                Endpoints = [.. server.Endpoints, RpcEndpoint.Parse($"tcp://127.0.0.1:{port}")],
            };
        }

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => server.ChangeAsync(change));

        Assert.Equal(errorId, error.ErrorId);
        Assert.Contains(text, error.Message, StringComparison.Ordinal);
        await server.ChangeAsync(new()
        {
            Endpoints = [.. server.Endpoints, RpcEndpoint.Parse("grpcs://127.0.0.1:0")],
        });
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            Assert.Equal(old.Thumbprint, await ShownByAsync(endpoint));
        }
    }

    [Fact]
    public static async Task A_server_without_TLS_refuses_one()
    {
        using X509Certificate2 certificate = NewCertificate("new");
        using RpcServer server = RpcServer.Create(SearchServer.Schema)
            .Handle("Search", (_, _) => ValueTask.FromResult<IMessage>(SearchServer.Found("x")))
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => server.ChangeAsync(new() { Certificate = certificate }));
        RpcException lone = await Assert.ThrowsAsync<RpcException>(
            () => server.ChangeAsync(new() { CertificateChain = [certificate] }));

        Assert.Equal("TlsNotSupported", error.ErrorId);
        Assert.Equal("MissingCertificate", lone.ErrorId);
    }

    [Fact]
    public static async Task Connections_that_come_meanwhile_get_one_or_the_other()
    {
        using X509Certificate2 one = NewCertificate("one");
        using X509Certificate2 other = NewCertificate("other");
        using RpcServer server = Serve(one, ["https://127.0.0.1:0/", "tcp://127.0.0.1:0"]);
        HashSet<string> known = [one.Thumbprint, other.Thumbprint];
        Task<string>[] callers =
        [
            .. Enumerable.Range(0, 40).Select(i => Task.Run(() => ShownByAsync(server.Endpoints[i % 2]))),
        ];

        for (int i = 0; i < 20; i++)
        {
            await server.ChangeAsync(new() { Certificate = i % 2 == 0 ? other : one });
        }

        Assert.Subset(known, (await Task.WhenAll(callers).WaitAsync(Patience)).ToHashSet());
        Assert.Equal(one.Thumbprint, await ShownByAsync(server.Endpoints[0]));
    }

    private static bool HasTls(RpcEndpoint endpoint) => endpoint.IsTls || endpoint.IsNative;

    private static RpcServer Serve(
        X509Certificate2 certificate, string[] endpoints, Func<string, Task>? handle = null,
        Guid? interfaceId = null)
    {
        RpcServerOptions options = new()
        {
            Certificate = certificate,
            UseTls = endpoints.Any(endpoint => RpcEndpoint.Parse(endpoint).IsNative),
        };
        RpcServer server = RpcServer.Create(SearchServer.Schema, null, options.WithHttp(), interfaceId)
            .Handle("Search", async (_, request) =>
            {
                await (handle?.Invoke(
                    (string)((DynamicMessage)request)["query"]!) ?? Task.CompletedTask);
                return SearchServer.Found("x");
            });
        Array.ForEach(endpoints, endpoint => server.AddEndpoint(endpoint));
        return server.StartListening();
    }

    private static RpcClient Connect(RpcEndpoint endpoint, X509Certificate2 trusted) => RpcClient.Connect(
        endpoint, SearchServer.Schema,
        new RpcClientOptions
        {
            UseTls = endpoint.IsNative,
            Tls = new() { CaCertificates = [trusted] },
        });

    private static DynamicMessage Request(string query) =>
        MessageFormats.Json.Read(SearchServer.RequestType, $$"""{"query":"{{query}}"}""");

    private static async Task<string> ShownByAsync(RpcEndpoint endpoint)
    {
        using TcpClient tcp = new();
        await tcp.ConnectAsync(endpoint.Host, endpoint.Port).WaitAsync(Patience);
        using SslStream tls = new(tcp.GetStream());
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            RemoteCertificateValidationCallback = static (_, _, _, _) => true,
        }).WaitAsync(Patience);
        return ((X509Certificate2)tls.RemoteCertificate!).Thumbprint;
    }

    private static async Task<int> StatusOfAsync(RpcEndpoint endpoint, string host)
    {
        using HttpClientHandler handler = new()
        {
            ServerCertificateCustomValidationCallback = static (_, _, _, _) => true,
        };
        using HttpClient http = new(handler);
        using HttpRequestMessage request = new(HttpMethod.Get, endpoint.Uri);
        request.Headers.Host = host;
        using HttpResponseMessage response = await http.SendAsync(request).WaitAsync(Patience);
        return (int)response.StatusCode;
    }

    private static X509Certificate2 Disposed()
    {
        X509Certificate2 certificate = NewCertificate("new");
        certificate.Dispose();
        return certificate;
    }

    private static X509Certificate2 NewCertificate(
        string name, string host = "localhost", string? usage = null) =>
        TestCertificate.Create(
            $"CN={name}", [host, "127.0.0.1"], -1, 1,
            usage is null ? [] : [new X509EnhancedKeyUsageExtension([new Oid(usage)], critical: false)]);
}
