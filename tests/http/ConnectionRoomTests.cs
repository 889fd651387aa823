using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Connections that nobody needs are closed, or make room for those that somebody does.</summary>
public static class ConnectionRoomTests
{
    private const string Search = "/ProtoService.SearchService/Search?query=x";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly byte[] Preface =
        [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, 0, 0, 0, 4, 0, 0, 0, 0, 0];

    private static readonly RpcServerOptions Impatient = new()
    {
        Limits = new RpcLimits { BindTimeout = TimeSpan.FromMilliseconds(300) },
    };

    [Theory]
    [InlineData("")]
    [InlineData("GET ")]
    [InlineData("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")]
    public static async Task A_silent_HTTP_connection_is_closed(string begun)
    {
        using SearchServer server = new(options: Impatient);

        await ClosesAsync(server.Endpoint, Encoding.ASCII.GetBytes(begun));
        await EventuallyAsync(() => server.Server.Counters.Connections == 0);
    }

    [Fact]
    public static async Task A_silent_gRPC_connection_is_closed()
    {
        using WordsServer server = new(options: Impatient);

        await Task.WhenAll(
            ClosesAsync(server.Endpoint, []),
            ClosesAsync(server.Endpoint, Preface),
            ClosesAsync(server.Endpoint, Preface[..10]),

            // A HEADERS frame that announces more than comes, and one after which no CONTINUATION comes.
            ClosesAsync(server.Endpoint, [.. Preface, 0, 0, 9, 1, 4, 0, 0, 0, 1, 0x83]),
            ClosesAsync(server.Endpoint, [.. Preface, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0x83]));
        await EventuallyAsync(() => server.Server.Counters.Connections == 0);
    }

    [Theory]
    [InlineData("http/1.1")]
    [InlineData("h2")]
    public static async Task A_bare_TLS_handshake_is_closed_and_half_of_one_too(string protocol)
    {
        using X509Certificate2 certificate = NewCertificate();
        using SearchServer server = new(
            null, Impatient with { Certificate = certificate }, "https://127.0.0.1:0/");
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        using SslStream tls = new(tcp.GetStream(), false, (_, _, _, _) => true);
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            ApplicationProtocols = [new SslApplicationProtocol(protocol)],
        });

        await Task.WhenAll(
            EndsAsync(tls),
            ClosesAsync(server.Endpoint, []),
            ClosesAsync(server.Endpoint, [0x16, 3, 1, 1, 0, 1]));
        await EventuallyAsync(() => server.Server.Counters.Connections == 0);
    }

    [Fact]
    public static async Task A_connection_that_had_a_request_may_be_silent_for_longer()
    {
        using SearchServer server = new(options: Impatient);
        using TcpClient quick = await RequestAsync(server.Endpoint);

        await ClosesAsync(server.Endpoint, []);
        await ClosesAsync(server.Endpoint, []);

        Assert.True(quick.Client.Connected);
        Assert.Equal("200", await AskAsync(quick));
    }

    [Fact]
    public static async Task The_connection_that_is_idle_the_longest_makes_room()
    {
        using SearchServer server = new(options: new() { Limits = new() { MaxConnections = 3 } });
        using TcpClient oldest = await RequestAsync(server.Endpoint);

        // The clock of the listener has a resolution.
        await Task.Delay(100);
        using TcpClient older = await RequestAsync(server.Endpoint);
        using TcpClient old = await RequestAsync(server.Endpoint);

        using TcpClient next = await EventuallyRequestAsync(server.Endpoint);

        await EndsAsync(oldest.GetStream());
        Assert.Equal("200", await AskAsync(older));
        Assert.Equal("200", await AskAsync(old));
        Assert.Equal("200", await AskAsync(next));
        Assert.Equal(3, server.Server.Counters.Connections);
    }

    [Fact]
    public static async Task Silent_connections_make_room_long_before_their_time_is_up()
    {
        RpcLimits limits = new() { MaxConnections = 100, BindTimeout = TimeSpan.FromMinutes(10) };
        using WordsServer server = new(options: new() { Limits = limits });
        List<TcpClient> silent = [];
        try
        {
            for (int i = 0; i < limits.MaxConnections; i++)
            {
                TcpClient client = new();
                silent.Add(client);
                await client.ConnectAsync("127.0.0.1", server.Endpoint.Port);
                await client.GetStream().WriteAsync(Preface);
            }

            await EventuallyAsync(() => server.Server.Counters.Connections == limits.MaxConnections);
            string? status = null;
            await EventuallyAsync(() => (status = TryCall(server)) == "0");
            Assert.Equal("0", status);
        }
        finally
        {
            silent.ForEach(client => client.Dispose());
        }
    }

    [Fact]
    public static async Task A_connection_with_a_call_stays_and_the_next_is_closed()
    {
        using SearchServer server = new(options: new() { Limits = new() { MaxConnections = 1 } });
        Task<(HttpStatusCode, string, string)> waiting = server.GetAsync(
            "/ProtoService.SearchService/Wait?query=x", ("Connect-Timeout-Ms", "3000"));
        await server.Waiting.Task.WaitAsync(Patience);

        await ClosesAsync(server.Endpoint, []);

        Assert.Equal(HttpStatusCode.GatewayTimeout, (await waiting).Item1);
    }

    [Fact]
    public static async Task A_caller_who_proved_who_he_is_stays()
    {
        using SearchServer server = new(
            new HttpServerOptions
            {
                Security = new()
                {
                    Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                        token == "good" ? new GenericIdentity("ann", "Bearer") : null),
                    AllowAnonymous = true,
                },
            },
            new() { Limits = new() { MaxConnections = 2 } });
        using TcpClient known = await RequestAsync(server.Endpoint, "Authorization: Bearer good\r\n");
        using TcpClient anonymous = await RequestAsync(server.Endpoint);

        using TcpClient next = await EventuallyRequestAsync(server.Endpoint);

        await EndsAsync(anonymous.GetStream());
        Assert.Equal("200", await AskAsync(known));
    }

    [Fact]
    public static async Task An_address_has_no_more_connections_than_its_quota()
    {
        using SearchServer server = new(options: new() { Limits = new() { MaxConnectionsPerAddress = 1 } });
        Task<(HttpStatusCode, string, string)> waiting = server.GetAsync(
            "/ProtoService.SearchService/Wait?query=x", ("Connect-Timeout-Ms", "3000"));
        await server.Waiting.Task.WaitAsync(Patience);

        await ClosesAsync(server.Endpoint, []);
        if (OperatingSystem.IsLinux())
        {
            // Elsewhere this machine has no second address that is sure to be there.
            using TcpClient other = await RequestAsync(server.Endpoint, from: "127.0.0.2");
        }

        await waiting;
        using TcpClient next = await EventuallyRequestAsync(server.Endpoint);
        Assert.Equal(1, server.Server.Counters.Connections);
    }

    private static string? TryCall(WordsServer server)
    {
        try
        {
            using HttpResponseMessage response = server.PostAsync(WordsServer.Frame(WordsServer.Text("x")))
                .GetAwaiter().GetResult();
            return WordsServer.Find(response, "grpc-status");
        }
        catch (Exception e) when (e is HttpRequestException or SocketException)
        {
            // A connection that is closed while HttpClient notes whose it is ends
            // as the socket's own exception.
            return null;
        }
    }

    private static async Task ClosesAsync(RpcEndpoint endpoint, byte[] begun)
    {
        using TcpClient client = new();
        try
        {
            await client.ConnectAsync("127.0.0.1", endpoint.Port);
            await client.GetStream().WriteAsync(begun);
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return;
        }

        await EndsAsync(client.GetStream());
    }

    private static async Task EndsAsync(Stream stream)
    {
        using CancellationTokenSource end = new(Patience);
        byte[] buffer = new byte[4096];
        try
        {
            while (await stream.ReadAsync(buffer, end.Token) > 0)
            {
            }
        }
        catch (IOException)
        {
            // Closed as well, only less politely.
        }
    }

    private static async Task<TcpClient> RequestAsync(
        RpcEndpoint endpoint, string header = "", string from = "127.0.0.1")
    {
        TcpClient client = new(new IPEndPoint(IPAddress.Parse(from), 0));
        await client.ConnectAsync("127.0.0.1", endpoint.Port);
        Assert.Equal("200", await AskAsync(client, header));
        return client;
    }

    // A connection can be spared after a second, so the first tries may be refused.
    private static async Task<TcpClient> EventuallyRequestAsync(RpcEndpoint endpoint)
    {
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; ; await Task.Delay(10))
        {
            TcpClient client = new();
            try
            {
                await client.ConnectAsync("127.0.0.1", endpoint.Port);
                if (await AskAsync(client) == "200")
                {
                    return client;
                }
            }
            catch (Exception e) when (e is IOException or SocketException)
            {
            }

            client.Dispose();
            Assert.True(Environment.TickCount64 < until, "There is no room.");
        }
    }

    // The status; empty when the listener closed.
    private static async Task<string> AskAsync(TcpClient client, string header = "")
    {
        using CancellationTokenSource end = new(Patience);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes($"HEAD {Search} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n"), end.Token);
        StringBuilder head = new();
        byte[] one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            if (await stream.ReadAsync(one, end.Token) == 0)
            {
                return "";
            }

            head.Append((char)one[0]);
        }

        return head.ToString()[9..12];
    }

    private static async Task EventuallyAsync(Func<bool> isSo)
    {
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; !isSo();)
        {
            Assert.True(Environment.TickCount64 < until, "Not so in time.");
            await Task.Delay(10);
        }
    }

    private static X509Certificate2 NewCertificate() => TestCertificate.Create("CN=localhost");
}
