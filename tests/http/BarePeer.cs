using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;

namespace ProtoRpc.Http.Tests;

/// <summary>A port whose connections a test answers as it likes.</summary>
internal sealed class BarePeer : IAsyncDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Task _accepting;

    public BarePeer(Func<Stream, Task> answer, SslServerAuthenticationOptions? tls = null)
    {
        _listener.Start();
        _accepting = AcceptAsync(answer, tls);
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting.WaitAsync(Patience);
        _listener.Dispose();
        _end.Dispose();
    }

    private async Task AcceptAsync(Func<Stream, Task> answer, SslServerAuthenticationOptions? tls)
    {
        List<Task> serving = [];
        try
        {
            while (true)
            {
                TcpClient client = await _listener.AcceptTcpClientAsync(_end.Token);
                serving.Add(ServeAsync(client, answer, tls));
            }
        }
        catch (OperationCanceledException)
        {
            await Task.WhenAll(serving);
        }
    }

    private async Task ServeAsync(
        TcpClient client, Func<Stream, Task> answer, SslServerAuthenticationOptions? tls)
    {
        using TcpClient connection = client;
        using CancellationTokenRegistration _ = _end.Token.Register(connection.Dispose);
        try
        {
            Stream stream = connection.GetStream();
            if (tls is not null)
            {
                SslStream secured = new(stream);
                await secured.AuthenticateAsServerAsync(tls);
                stream = secured;
            }

            await answer(stream);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or SocketException
            or AuthenticationException)
        {
            // The client has closed the connection, or the test has ended.
        }
    }
}
