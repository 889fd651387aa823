using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Calls that arrive over an open connection while the server stops.</summary>
public static class StoppingServerTests
{
    private const int RefusedStream = 7;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static async Task A_grpc_call_is_refused_so_that_clients_know_that_it_did_not_run()
    {
        using WordsServer server = new();
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = tcp.GetStream();
        await stream.WriteAsync(Http2Frames.Preface);
        await stream.WriteAsync(Http2Frames.Call(stream: 1, "wait"));
        await server.Waiting.Task.WaitAsync(Patience);

        Task stopped = server.Server.StopAsync(Patience);
        await ReadFrameAsync(stream, Http2Frames.GoAway, 0);

        // Sent before the client can have seen the GOAWAY.
        await stream.WriteAsync(Http2Frames.Call(stream: 3, "hello"));

        Assert.Equal([0, 0, 0, RefusedStream], await ReadFrameAsync(stream, Http2Frames.ResetStream, 3));
        tcp.Close();
        await stopped.WaitAsync(Patience);
    }

    [Fact]
    public static async Task A_call_over_http_is_answered_with_the_reason()
    {
        using SearchServer server = new();
        using TcpClient running = new();
        using TcpClient idle = new();
        await running.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        await idle.ConnectAsync("127.0.0.1", server.Endpoint.Port);

        // Half a request keeps the connection open while the server stops.
        await idle.GetStream().WriteAsync("POST /SearchService/Search HTTP/1.1\r\n"u8.ToArray());
        await running.GetStream().WriteAsync(Post("Wait"));
        await server.Waiting.Task.WaitAsync(Patience);

        Task stopped = server.Server.StopAsync(Patience);
        await RefusesConnectionsAsync(server.Endpoint.Port);
        await idle.GetStream().WriteAsync(
            "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"u8.ToArray());
        using StreamReader reader = new(idle.GetStream());
        string answer = await reader.ReadToEndAsync().WaitAsync(Patience);

        Assert.StartsWith("HTTP/1.1 503 ", answer);
        Assert.Contains("\"error_text\":\"The server is stopping; the call did not run.\"", answer);
        running.Close();
        await stopped.WaitAsync(Patience);
    }

    // The sign that the server has begun to stop.
    private static async Task RefusesConnectionsAsync(int port)
    {
        for (long until = Environment.TickCount64 + (long)Patience.TotalMilliseconds; ;)
        {
            using TcpClient late = new();
            try
            {
                await late.ConnectAsync("127.0.0.1", port);
            }
            catch (SocketException)
            {
                return;
            }

            Assert.True(Environment.TickCount64 < until, "The server still accepts connections.");
        }
    }

    private static byte[] Post(string method) => Encoding.ASCII.GetBytes(
        $"POST /ProtoService.SearchService/{method} HTTP/1.1\r\nHost: localhost\r\n"
        + "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"query\":\"x\"}");

    // The payload of the next frame of a type on a stream.
    private static async Task<byte[]> ReadFrameAsync(NetworkStream stream, byte type, byte id)
    {
        using CancellationTokenSource end = new(Patience);
        byte[] header = new byte[9];
        while (true)
        {
            await stream.ReadExactlyAsync(header, end.Token);
            byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
            await stream.ReadExactlyAsync(payload, end.Token);
            if (header[3] == type && header[8] == id)
            {
                return payload;
            }

            Assert.NotEqual((Http2Frames.Headers, id), (header[3], header[8]));
        }
    }
}
