using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Proxies;

/// <summary>A proxy on loopback. Whatever host it is asked for, it connects to one server.</summary>
internal sealed class ConnectProxy : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly ConcurrentBag<IDisposable> _open = [];
    private readonly int _server;
    private readonly string? _user;

    /// <param name="server">The port of the server on loopback.</param>
    /// <param name="user">The user and the password that it asks for, as <c>user:password</c>; null for
    /// none.</param>
    public ConnectProxy(int server, string? user = null)
    {
        (_server, _user) = (server, user);
        _listener.Start();
        _ = AcceptAsync();
    }

    public string Address => $"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}";

    /// <summary>The first lines of the requests.</summary>
    public ConcurrentQueue<string> Requests { get; } = [];

    public void Dispose()
    {
        _listener.Dispose();
        foreach (IDisposable one in _open)
        {
            one.Dispose();
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket client = await _listener.AcceptSocketAsync();
                _open.Add(client);
                _ = ServeAsync(client);
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The end of the test.
        }
    }

    private async Task ServeAsync(Socket client)
    {
        try
        {
            await using NetworkStream stream = new(client, ownsSocket: true);
            string head = await ReadHeadAsync(stream);
            Requests.Enqueue(head.Split("\r\n")[0]);
            string? wanted = _user is null
                ? null
                : $"Proxy-Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes(_user))}";
            if (wanted is not null && !head.Contains(wanted, StringComparison.OrdinalIgnoreCase))
            {
                await WriteAsync(
                    stream, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
                    + "Content-Length: 0\r\nConnection: close\r\n\r\n");
                return;
            }

            using Socket server = new(SocketType.Stream, ProtocolType.Tcp);
            _open.Add(server);
            try
            {
                await server.ConnectAsync(IPAddress.Loopback, _server);
            }
            catch (SocketException)
            {
                await WriteAsync(stream, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
                return;
            }

            await using NetworkStream upstream = new(server);
            await WriteAsync(
                head.StartsWith("CONNECT ", StringComparison.Ordinal) ? stream : upstream,
                head.StartsWith("CONNECT ", StringComparison.Ordinal)
                    ? "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n"
                    : head);
            await Task.WhenAny(stream.CopyToAsync(upstream), upstream.CopyToAsync(stream));
        }
        catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
        {
            // A side has gone.
        }
    }

    private static async Task<string> ReadHeadAsync(NetworkStream stream)
    {
        StringBuilder head = new();
        byte[] one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            await stream.ReadExactlyAsync(one);
            head.Append((char)one[0]);
        }

        return head.ToString();
    }

    private static Task WriteAsync(NetworkStream stream, string text) =>
        stream.WriteAsync(Encoding.Latin1.GetBytes(text)).AsTask();
}
