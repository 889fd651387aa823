using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>A server that speaks HTTP/2 as far as it is told to,
/// and then does what a test wants of each request.</summary>
internal sealed class Http2Peer : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly ConcurrentQueue<Http2PeerConnection> _connections = new();
    private readonly ConcurrentQueue<(int Connection, int Stream)> _takenBack = new();
    private readonly Func<Http2PeerConnection, int, Task> _answer;
    private readonly X509Certificate2? _certificate;
    private readonly Task _serving;
    private readonly string? _protocol;

    /// <param name="answer">What is done when a request's headers have come;
    /// gets the number of its stream.</param>
    /// <param name="certificate">For TLS.</param>
    /// <param name="protocol">What TLS says is spoken over it (ALPN); null if it says nothing.</param>
    public Http2Peer(
        Func<Http2PeerConnection, int, Task> answer, X509Certificate2? certificate = null,
        string? protocol = "h2")
    {
        _answer = answer;
        _certificate = certificate;
        _protocol = protocol;
        _listener.Start();
        _serving = ServeAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public RpcEndpoint Endpoint =>
        RpcEndpoint.Parse($"{(_certificate is null ? "grpc" : "grpcs")}://127.0.0.1:{Port}");

    /// <summary>The pings of all connections.</summary>
    public int Pings => _connections.Sum(connection => connection.Pings);

    /// <summary>The streams that the client reset.</summary>
    public IEnumerable<(int Connection, int Stream)> TakenBack => _takenBack;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Dispose();
        foreach (Http2PeerConnection connection in _connections)
        {
            connection.Close();
        }

        await _serving;
    }

    private async Task ServeAsync()
    {
        List<Task> talks = [];
        try
        {
            while (true)
            {
                TcpClient client = await _listener.AcceptTcpClientAsync(_end.Token);
                talks.Add(TalkAsync(client));
            }
        }
        catch (Exception e) when (_end.IsCancellationRequested
            && e is OperationCanceledException or SocketException or InvalidOperationException)
        {
            // The test is over.
        }

        await Task.WhenAll(talks);
    }

    // With the token throughout: a connection taken while the test ends is one that Dispose cannot close.
    private async Task TalkAsync(TcpClient client)
    {
        try
        {
            using Stream stream = await SecureAsync(client.GetStream());
            Http2PeerConnection connection = new(_connections.Count + 1, stream);
            _connections.Enqueue(connection);
            await connection.TalkAsync(
                _answer, id => _takenBack.Enqueue((connection.Number, id)), _end.Token);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or OperationCanceledException
            or System.Security.Authentication.AuthenticationException)
        {
            // The client left, the test closed the connection, or it is over.
        }
    }

    private async Task<Stream> SecureAsync(NetworkStream plain)
    {
        if (_certificate is null)
        {
            return plain;
        }

        SslStream secured = new(plain);
        SslServerAuthenticationOptions options = new()
        {
            ServerCertificate = _certificate,
            ApplicationProtocols = _protocol is null ? null : [new(_protocol)],
        };
        await secured.AuthenticateAsServerAsync(options, _end.Token);
        return secured;
    }
}
