using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Clients that send the preface of HTTP/2 in part, slowly, wrongly or not at all, to a port that
/// has both versions of HTTP.</summary>
public static class PrefaceTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly byte[] Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8.ToArray();
    private static readonly byte[] Get =
        "GET /streams.Words/Say?text=x HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray();

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(12)]
    [InlineData(23)]
    public static async Task A_part_of_the_preface_and_then_silence_is_closed(int length)
    {
        using WordsServer server = Serve(new() { BindTimeout = TimeSpan.FromMilliseconds(300) });
        using TcpClient silent = await OpenAsync(server, Preface[..length]);

        // Others are served meanwhile.
        Assert.Equal("HTTP/1.1 200 OK", await FirstLineAsync(server, Get));
        Assert.Equal(0, await ReadAsync(silent));
        await EventuallyAsync(() => server.Server.Counters.Connections == 0);
    }

    [Fact]
    public static async Task The_preface_can_come_byte_by_byte()
    {
        using WordsServer server = Serve();
        using TcpClient client = await OpenAsync(server, []);
        client.NoDelay = true;
        byte[] call = [.. Http2Frames.Preface, .. Http2Frames.Call(1, "slow")];
        foreach (byte one in call)
        {
            await client.GetStream().WriteAsync(new[] { one });
        }

        using CancellationTokenSource end = new(Patience);
        StringBuilder received = new();
        byte[] buffer = new byte[1024];
        while (!received.ToString().Contains("slow", StringComparison.Ordinal))
        {
            int count = await client.GetStream().ReadAsync(buffer, end.Token);
            Assert.NotEqual(0, count);
            received.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }

        Assert.Equal(1, server.Server.Counters.Accepted);
    }

    [Fact]
    public static async Task HTTP_1_can_come_byte_by_byte()
    {
        using WordsServer server = Serve();
        using TcpClient client = await OpenAsync(server, []);
        client.NoDelay = true;

        // The first two letters are those of the preface.
        byte[] request = Encoding.ASCII.GetBytes(
            "PROPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        foreach (byte one in request)
        {
            await client.GetStream().WriteAsync(new[] { one });
        }

        Assert.StartsWith("HTTP/1.1 405", await LineAsync(client), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(12)]
    public static async Task An_almost_right_preface_is_bad_HTTP_1(int wrong)
    {
        using WordsServer server = Serve();
        byte[] bytes = [.. Preface];
        bytes[wrong] = (byte)'x';

        string line = await FirstLineAsync(server, bytes);

        Assert.Matches("^HTTP/1.1 (400|405|505) ", line);
        Assert.Equal("HTTP/1.1 200 OK", await FirstLineAsync(server, Get));
    }

    [Theory]
    [InlineData(18)]
    [InlineData(23)]
    public static async Task A_preface_with_another_end_gets_the_advice_to_use_HTTP_1(int wrong)
    {
        using WordsServer server = Serve();
        byte[] bytes = [.. Preface];
        bytes[wrong] = (byte)'x';
        using TcpClient client = await OpenAsync(server, bytes);

        string received = await ReadToEndAsync(client);

        // Kestrel's answer to the first line of the preface: GOAWAY with HTTP_1_1_REQUIRED.
        Assert.Equal("\0\0\b\a\0\0\0\0\0\0\0\0\0\0\0\0\r", received);
        Assert.Equal("HTTP/1.1 200 OK", await FirstLineAsync(server, Get));
    }

    [Fact]
    public static async Task A_part_of_the_preface_and_then_the_end_is_closed()
    {
        using WordsServer server = Serve();
        using TcpClient client = await OpenAsync(server, Preface[..10]);
        NetworkStream stream = client.GetStream();
        client.Client.Shutdown(SocketShutdown.Send);

        using CancellationTokenSource end = new(Patience);
        await stream.CopyToAsync(Stream.Null, end.Token);
        await EventuallyAsync(() => server.Server.Counters.Connections == 0);
    }

    [Fact]
    public static async Task A_thousand_silent_connections_hold_nobody_up()
    {
        using WordsServer server = Serve(new() { MaxConnections = 2000, MaxConnectionsPerAddress = 2000 });
        List<TcpClient> silent = [];
        try
        {
            for (int i = 0; i < 1000; i++)
            {
                silent.Add(await OpenAsync(server, Preface[..(i % 2 * 10)]));
            }

            await EventuallyAsync(() => server.Server.Counters.Connections == 1000);
            Assert.Equal("HTTP/1.1 200 OK", await FirstLineAsync(server, Get));
            using HttpResponseMessage grpc = await server.PostAsync(
                WordsServer.Frame(WordsServer.Text("x")));
            Assert.Equal("0", WordsServer.Find(grpc, "grpc-status"));
        }
        finally
        {
            silent.ForEach(client => client.Dispose());
        }
    }

    [Fact]
    public static async Task Half_prefaces_count_as_connections_and_make_room()
    {
        using WordsServer server = Serve(new()
        {
            MaxConnections = 3,
            BindTimeout = TimeSpan.FromMinutes(10),
        });
        using TcpClient first = await OpenAsync(server, Preface[..3]);
        using TcpClient second = await OpenAsync(server, Preface[..3]);
        using TcpClient third = await OpenAsync(server, Preface[..3]);
        await EventuallyAsync(() => server.Server.Counters.Connections == 3);

        // After a second, one that waits gives way.
        string line = "";
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; line.Length == 0;)
        {
            Assert.True(Environment.TickCount64 < until, "There is no room.");
            line = await FirstLineAsync(server, Get);
        }

        Assert.Equal("HTTP/1.1 200 OK", line);
        Assert.InRange(server.Server.Counters.Connections, 1, 3);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(10)]
    public static async Task A_stop_does_not_wait_for_a_preface(int length)
    {
        using WordsServer server = Serve(new() { DrainTimeout = TimeSpan.FromMinutes(10) });
        using TcpClient client = await OpenAsync(server, Preface[..length]);
        await EventuallyAsync(() => server.Server.Counters.Connections == 1);

        await server.Server.StopAsync().WaitAsync(Patience);

        Assert.Equal(0, await ReadAsync(client));
    }

    [Fact]
    public static async Task Too_many_pings_end_only_HTTP_2()
    {
        using WordsServer server = Serve();
        byte[] ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        using TcpClient client = await OpenAsync(
            server, [.. Http2Frames.Preface, .. Enumerable.Repeat(ping, 6).SelectMany(frame => frame)]);

        string received = await ReadToEndAsync(client);

        Assert.Contains("too_many_pings", received, StringComparison.Ordinal);
        Assert.Equal("HTTP/1.1 200 OK", await FirstLineAsync(server, Get));
    }

    private static WordsServer Serve(RpcLimits? limits = null) =>
        new("http://127.0.0.1:0/", new() { Limits = limits ?? new() });

    private static async Task<TcpClient> OpenAsync(WordsServer server, byte[] begun)
    {
        TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        await client.GetStream().WriteAsync(begun);
        return client;
    }

    // Empty when the listener closed the connection.
    private static async Task<string> FirstLineAsync(WordsServer server, byte[] request)
    {
        try
        {
            using TcpClient client = await OpenAsync(server, request);
            return await LineAsync(client);
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return "";
        }
    }

    private static async Task<string> LineAsync(TcpClient client)
    {
        using CancellationTokenSource end = new(Patience);
        using StreamReader reader = new(client.GetStream(), Encoding.ASCII);
        return await reader.ReadLineAsync(end.Token) ?? "";
    }

    private static async Task<int> ReadAsync(TcpClient client)
    {
        using CancellationTokenSource end = new(Patience);
        try
        {
            return await client.GetStream().ReadAsync(new byte[1], end.Token);
        }
        catch (IOException)
        {
            return 0;
        }
    }

    private static async Task<string> ReadToEndAsync(TcpClient client)
    {
        using CancellationTokenSource end = new(Patience);
        StringBuilder received = new();
        byte[] buffer = new byte[1024];
        try
        {
            while (await client.GetStream().ReadAsync(buffer, end.Token) is > 0 and int count)
            {
                received.Append(Encoding.Latin1.GetString(buffer, 0, count));
            }
        }
        catch (IOException)
        {
            // Closed with bytes that the listener did not read.
        }

        return received.ToString();
    }

    private static async Task EventuallyAsync(Func<bool> isSo)
    {
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; !isSo();)
        {
            Assert.True(Environment.TickCount64 < until, "Not so in time.");
            await Task.Delay(10);
        }
    }
}
