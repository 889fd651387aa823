using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Pings of HTTP servers that are none of ours.</summary>
public static class ForeignServerPingTests
{
    [Theory]
    [InlineData("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 3\r\n\r\nxyz")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nxyz")]
    [InlineData("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")]
    public static void A_server_that_does_not_know_our_ping_is_there_all_the_same(string answer)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        Thread serving = new(() => Serve(listener, answer)) { IsBackground = true };
        serving.Start();
        using RpcClient client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/");

        RpcPingResult result = client.Ping(
            new() { Service = "some.Service", Timeout = TimeSpan.FromSeconds(2) });

        Assert.Equal(("Foreign/1", 0, false), (result.Product, result.Services.Count, result.IsProtoRpc));
    }

    [Fact]
    public static void A_server_that_does_not_answer_in_time_has_not_said_that_it_has_the_service()
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        new Thread(() => Serve(listener, "")) { IsBackground = true }.Start();
        using RpcClient client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/");

        Assert.Equal("Foreign/1", client.Ping(new() { Timeout = TimeSpan.FromSeconds(1) }).Product);
        RpcException error = Assert.Throws<RpcException>(
            () => client.Ping(
            new() { Service = "some.Service", Timeout = TimeSpan.FromSeconds(1) }));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Theory]
    [InlineData("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")]
    [InlineData("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")]
    public static void A_proxy_whose_server_is_not_there_is_not_well(string answer)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        new Thread(() => Serve(listener, answer)) { IsBackground = true }.Start();
        using RpcClient client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/");

        RpcException error =
            Assert.Throws<RpcException>(() => client.Ping(new() { Timeout = TimeSpan.FromSeconds(5) }));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }

    [Theory]
    [InlineData(301, "https://other.example/")]
    [InlineData(308, "/elsewhere/")]
    public static void A_server_that_redirects_calls_is_told_with_the_place(int status, string place)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        string answer = $"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n";
        new Thread(() => Serve(listener, answer)) { IsBackground = true }.Start();
        using RpcClient client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/");

        RpcException error =
            Assert.Throws<RpcException>(() => client.Ping(new() { Timeout = TimeSpan.FromSeconds(5) }));

        Assert.Equal(("Redirected", false), (error.ErrorId, error.MayHaveExecuted));
        Assert.Contains($"redirected to '{place}'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(
        "501 Unsupported method\r\nContent-Type: text/html",
        "'http://127.0.0.1:PORT/ProtoService.SearchService/Search' is an address of the service.")]
    [InlineData("404 Not Found", "/ProtoService.SearchService/Search' is an address of the service.")]
    [InlineData("502 Bad Gateway", " A proxy returns this status if it cannot reach the service.")]
    [InlineData(
        "429 Too Many\r\nContent-Type: text/html",
        " A proxy returns this status if it limits the rate of requests.")]
    public static void A_call_to_a_foreign_server_says_what_to_check(string answer, string advice)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        string http = $"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n";
        new Thread(() => Serve(listener, http)) { IsBackground = true }.Start();
        string port = ((IPEndPoint)listener.LocalEndpoint).Port.ToString(CultureInfo.InvariantCulture);
        using RpcClient client = RpcClient.Connect($"http://127.0.0.1:{port}/", SearchServer.Schema);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(
                "Search", new { query = "x" }, new RpcCallOptions { Timeout = TimeSpan.FromSeconds(5) }));

        Assert.EndsWith(
            advice.Replace("PORT", port, StringComparison.Ordinal), error.Message, StringComparison.Ordinal);
    }

    // OPTIONS is answered; a POST gets the answer, or none.
    private static void Serve(TcpListener listener, string answer)
    {
        try
        {
            while (true)
            {
                TcpClient caller = listener.AcceptTcpClient();
                new Thread(() => Serve(caller, answer)) { IsBackground = true }.Start();
            }
        }
        catch (Exception e) when (e is SocketException or InvalidOperationException)
        {
            // The test is over.
        }
    }

    private static void Serve(TcpClient caller, string answer)
    {
        using StreamReader reader = new(caller.GetStream(), Encoding.ASCII);
        try
        {
            while (reader.ReadLine() is { } line)
            {
                string reply = line.StartsWith("OPTIONS", StringComparison.Ordinal)
                    ? "HTTP/1.1 204 No Content\r\nServer: Foreign/1\r\n\r\n"
                    : line.StartsWith("POST", StringComparison.Ordinal) ? answer : "";
                caller.GetStream().Write(Encoding.ASCII.GetBytes(reply));
            }
        }
        catch (IOException)
        {
            // The caller is gone.
        }
    }
}
