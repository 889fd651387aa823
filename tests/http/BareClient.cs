using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Sends bytes as they are, which no HTTP client does, and gives what comes back.</summary>
internal static class BareClient
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    /// <summary>Sends a text as Latin-1 and gives all that comes until the listener hangs up.</summary>
    public static async Task<string> ExchangeAsync(SearchServer server, string request)
    {
        using TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = client.GetStream();
        Task<string> answers = ReadAsync(stream);
        try
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(request));
        }
        catch (IOException)
        {
            // Refused before all of it was sent.
        }

        return await answers;
    }

    /// <summary>Sends a head, and then part after part until the listener answers.</summary>
    /// <returns>The answer, and how many bytes of parts were sent.</returns>
    public static async Task<(string Answer, long Sent)> FeedAsync(
        SearchServer server, string head, byte[] part, TimeSpan pause)
    {
        using TcpClient client = new();
        await client.ConnectAsync("127.0.0.1", server.Endpoint.Port);
        NetworkStream stream = client.GetStream();
        Task<string> answer = ReadAsync(stream);
        long sent = 0;
        try
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(head));
            while (!answer.IsCompleted)
            {
                await stream.WriteAsync(part);
                sent += part.Length;
                if (pause > TimeSpan.Zero)
                {
                    await Task.WhenAny(answer, Task.Delay(pause));
                }
            }
        }
        catch (IOException)
        {
            // It has hung up.
        }

        return (await answer, sent);
    }

    // What came before a connection broke counts, too: a listener that refuses does not wait for the rest.
    private static async Task<string> ReadAsync(NetworkStream stream)
    {
        using CancellationTokenSource end = new(Patience);
        StringBuilder text = new();
        byte[] buffer = new byte[4096];
        try
        {
            int count;
            while ((count = await stream.ReadAsync(buffer, end.Token)) > 0)
            {
                text.Append(Encoding.Latin1.GetString(buffer, 0, count));
            }
        }
        catch (Exception e) when (text.Length > 0 && e is IOException or OperationCanceledException)
        {
        }

        return text.ToString();
    }
}
