using System.Net.Sockets;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using ProtoRpc.AspNetCore.Http;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>The first requests of a connection, at the same time.</summary>
public static class FirstRequestsTests
{
    private const int Calls = 16;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static async Task All_are_answered()
    {
        using WordsServer server = new();
        byte[] calls =
        [
            .. Http2Frames.Preface,
            .. Enumerable.Range(0, Calls).SelectMany(i => Http2Frames.Call((2 * i) + 1, "hello")),
        ];
        for (int i = 0; i < 200; i++)
        {
            using TcpClient tcp = new();
            await tcp.ConnectAsync("127.0.0.1", server.Endpoint.Port);
            NetworkStream stream = tcp.GetStream();
            await stream.WriteAsync(calls);

            Assert.Equal(Calls, await CountRepliesAsync(stream));
        }
    }

    [Fact]
    public static void All_have_the_same_peer_where_the_application_owns_the_connection()
    {
        for (int i = 0; i < 2000; i++)
        {
            using Barrier start = new(4);
            Connection connection = new();
            ConnectionPeer[] peers = new ConnectionPeer[start.ParticipantCount];
            Thread[] requests = [.. Enumerable.Range(0, peers.Length).Select(n => new Thread(() =>
            {
                DefaultHttpContext http = new();
                http.Features.Set<IConnectionItemsFeature>(connection);
                start.SignalAndWait(Patience);
                peers[n] = ConnectionPeer.From(http);
            }))];
            Array.ForEach(requests, request => request.Start());
            Array.ForEach(requests, request => request.Join());

            Assert.Single(peers.Distinct());
        }
    }

    // A failure has headers alone.
    private static async Task<int> CountRepliesAsync(NetworkStream stream)
    {
        using CancellationTokenSource end = new(Patience);
        byte[] header = new byte[9];
        (int replies, int ended) = (0, 0);
        while (ended < Calls)
        {
            await stream.ReadExactlyAsync(header, end.Token);
            byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
            await stream.ReadExactlyAsync(payload, end.Token);
            bool isLast = header[3] <= Http2Frames.Headers && (header[4] & Http2Frames.EndStream) != 0;
            replies += header[3] == Http2Frames.Data && payload.Length > 0 ? 1 : 0;
            ended += isLast || header[3] == Http2Frames.ResetStream ? 1 : 0;
        }

        return replies;
    }

    private sealed class Connection : IConnectionItemsFeature
    {
        public IDictionary<object, object?> Items { get; set; } = new Dictionary<object, object?>();
    }
}
