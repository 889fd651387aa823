using System.Net;
using System.Net.Sockets;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>The limits of HTTP and gRPC listeners that RpcLimits sets.</summary>
public static class LimitTests
{
    private const string Search = "/ProtoService.SearchService/Search?query=x";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static async Task Headers_are_bounded_in_bytes_and_number()
    {
        using SearchServer server = new(
            options: new() { Limits = new() { MaxHeaderBytes = 2000, MaxHeaders = 10 } });

        (HttpStatusCode few, _, _) = await server.GetAsync(Search, ("X-A", new string('a', 1000)));
        (HttpStatusCode large, _, _) = await server.GetAsync(Search, ("X-A", new string('a', 2000)));
        (HttpStatusCode many, _, _) = await server.GetAsync(
            Search, [.. Enumerable.Range(0, 10).Select(i => ($"X-{i}", "a"))]);

        Assert.Equal(HttpStatusCode.OK, few);
        Assert.Equal(HttpStatusCode.RequestHeaderFieldsTooLarge, large);
        Assert.Equal(HttpStatusCode.RequestHeaderFieldsTooLarge, many);
    }

    [Fact]
    public static async Task Headers_may_be_larger_where_the_listener_says_so()
    {
        using SearchServer server = new(
            options: new() { Limits = new() { MaxHeaderBytes = 100_000, MaxHeaders = 300 } });

        (HttpStatusCode status, _, _) = await server.GetAsync(
            Search, [.. Enumerable.Range(0, 200).Select(i => ($"X-{i}", new string('a', 300)))]);

        Assert.Equal(HttpStatusCode.OK, status);
    }

    [Fact]
    public static async Task Streams_of_a_connection_are_announced()
    {
        using WordsServer server = new(options: new() { Limits = new() { MaxStreamsPerConnection = 7 } });
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        await tcp.GetStream().WriteAsync(Http2Preface());

        byte[] settings = await ReadFrameAsync(tcp.GetStream(), type: 4);

        // SETTINGS_MAX_CONCURRENT_STREAMS is 3.
        Assert.Contains(settings.Chunk(6), setting => setting is [0, 3, 0, 0, 0, 7]);
    }

    [Theory]
    [InlineData("MaxStreamsPerConnection")]
    [InlineData("MaxHeaderBytes")]
    [InlineData("MaxHeaders")]
    [InlineData("MaxConnectionsPerAddress")]
    [InlineData("HandlerTimeout")]
    public static void A_limit_that_is_none_is_refused(string name)
    {
        RpcLimits limits = new();
        limits = name switch
        {
            "MaxStreamsPerConnection" => limits with { MaxStreamsPerConnection = 0 },
            "MaxHeaderBytes" => limits with { MaxHeaderBytes = -1 },
            "MaxHeaders" => limits with { MaxHeaders = 0 },
            "MaxConnectionsPerAddress" => limits with { MaxConnectionsPerAddress = 0 },
            _ => limits with { HandlerTimeout = TimeSpan.Zero },
        };

        RpcException error = Assert.Throws<RpcException>(
            () => new SearchServer(options: new() { Limits = limits }));

        Assert.Equal("InvalidLimit", error.ErrorId);
        Assert.Contains($"RpcLimits.{name}", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_handler_is_stopped_after_its_time_whatever_the_caller_says()
    {
        RpcServerOptions options =
            new() { Limits = new() { HandlerTimeout = TimeSpan.FromMilliseconds(300) } };
        using SearchServer search = new(options: options);
        using WordsServer words = new(options: options);

        (HttpStatusCode withDeadline, _, _) = await search.GetAsync(
            "/ProtoService.SearchService/Wait?query=x", ("Connect-Timeout-Ms", "60000"));
        (HttpStatusCode without, _, _) = await search.GetAsync("/ProtoService.SearchService/Wait?query=x");
        using HttpResponseMessage grpc = await words.PostAsync(
            WordsServer.Frame(WordsServer.Text("wait")), headers: ("grpc-timeout", "60S"));
        using RpcClient native = RpcClient.Connect(search.Server.Endpoints[1], SearchServer.Schema);
        RpcException error = Assert.Throws<RpcException>(() => native.Invoke(
            native.GetMethod("Wait"),
            MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""")));

        Assert.Equal(HttpStatusCode.GatewayTimeout, withDeadline);
        Assert.Equal(HttpStatusCode.GatewayTimeout, without);
        Assert.Equal("4", WordsServer.Find(grpc, "grpc-status"));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Contains("within the server's HandlerTimeout of 0.3 s", error.Message);
    }

    [Fact]
    public static async Task A_client_that_pings_too_often_is_told_so_and_cut_off()
    {
        using WordsServer server = new();
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = tcp.GetStream();
        await stream.WriteAsync(Http2Preface());
        Task<byte[]> farewell = ReadFrameAsync(stream, type: 7);

        int pings = 0;
        try
        {
            for (; !farewell.IsCompleted && pings < 1000; pings++)
            {
                await stream.WriteAsync((byte[])[0, 0, 8, 6, 0, 0, 0, 0, 0, .. "12345678"u8]);
                await Task.WhenAny(farewell, Task.Delay(10));
            }
        }
        catch (IOException)
        {
            // It has hung up.
        }

        byte[] payload = await farewell.WaitAsync(Patience);
        Assert.Equal(0xb, payload[7]);
        Assert.Equal("too_many_pings"u8.ToArray(), payload[8..]);
        Assert.InRange(pings, 3, 999);
    }

    [Fact]
    public static async Task Pings_that_keep_their_distance_and_those_within_data_are_fine()
    {
        using WordsServer server = new(
            options: new() { Limits = new() { MinPingInterval = TimeSpan.FromMilliseconds(50) } });
        using RpcClient client = server.Connect(new() { KeepAlive = TimeSpan.FromSeconds(1) });
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = tcp.GetStream();
        await stream.WriteAsync(Http2Preface());

        for (int i = 0; i < 10; i++)
        {
            await stream.WriteAsync((byte[])[0, 0, 8, 6, 0, 0, 0, 0, 0, .. "12345678"u8]);
            await ReadFrameAsync(stream, type: 6);
            await Task.Delay(100);
        }

        // The HTTP client measures the connection with pings of its own while data comes.
        for (int i = 0; i < 20; i++)
        {
            IMessage reply = client.Invoke(client.GetMethod("Say"), WordsServer.Payload(100_000));
            Assert.True(reply.CalculateSize() > 0);
        }

        Assert.Equal(2, server.Server.Counters.Accepted);
    }

    private static byte[] Http2Preface() =>
        [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, 0, 0, 0, 4, 0, 0, 0, 0, 0];

    // The payload of the next frame of a type.
    private static async Task<byte[]> ReadFrameAsync(NetworkStream stream, byte type)
    {
        using CancellationTokenSource end = new(Patience);
        byte[] header = new byte[9];
        while (true)
        {
            await stream.ReadExactlyAsync(header, end.Token);
            byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
            await stream.ReadExactlyAsync(payload, end.Token);
            if (header[3] == type)
            {
                return payload;
            }
        }
    }
}
