using System.Buffers.Binary;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace ProtoRpc.Tests.Calls.Grpc;

/// <summary>A server that speaks HTTP/2 as far as it is told to, and then does what a test wants of each request.</summary>
internal sealed class Http2Peer : IAsyncDisposable
{
    private const byte Data = 0x0;
    private const byte Headers = 0x1;
    private const byte RstStream = 0x3;
    private const byte Settings = 0x4;
    private const byte GoAwayType = 0x7;
    private const byte EndStream = 0x1;
    private const byte EndHeaders = 0x4;
    private const byte Ack = 0x1;
    private const int PrefaceLength = 24;

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Func<Http2Peer, int, Task> _answer;
    private readonly X509Certificate2? _certificate;
    private readonly Task _serving;
    private readonly bool _offersHttp2;
    private Stream _stream = Stream.Null;

    /// <param name="answer">What is done when a request's headers have come; gets the number of its stream.</param>
    /// <param name="certificate">For TLS.</param>
    /// <param name="offersHttp2">Whether TLS says that HTTP/2 is spoken.</param>
    public Http2Peer(
        Func<Http2Peer, int, Task> answer, X509Certificate2? certificate = null, bool offersHttp2 = true)
    {
        _answer = answer;
        _certificate = certificate;
        _offersHttp2 = offersHttp2;
        _listener.Start();
        _serving = ServeAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public RpcEndpoint Endpoint => RpcEndpoint.Parse($"{(_certificate is null ? "grpc" : "grpcs")}://127.0.0.1:{Port}");

    public Task SendHeadersAsync(int stream, bool end, params (string Name, string Value)[] headers)
    {
        List<byte> block = [];
        foreach ((string name, string value) in headers)
        {
            // A literal that is not indexed, with its name.
            block.Add(0);
            AddText(block, name);
            AddText(block, value);
        }

        return SendAsync(Headers, (byte)(EndHeaders | (end ? EndStream : 0)), stream, [.. block]);
    }

    /// <summary>The headers that every good reply begins with.</summary>
    public Task SendGoodHeadersAsync(int stream, params (string Name, string Value)[] more) => SendHeadersAsync(
        stream, end: false, [(":status", "200"), ("content-type", "application/grpc"), .. more]);

    public Task SendDataAsync(int stream, byte[] bytes, bool end = false) =>
        SendAsync(Data, end ? EndStream : (byte)0, stream, bytes);

    public Task ResetAsync(int stream, uint code) => SendAsync(RstStream, 0, stream, BigEndian(code));

    public Task GoAwayAsync(int lastStream, uint code) =>
        SendAsync(GoAwayType, 0, 0, [.. BigEndian((uint)lastStream), .. BigEndian(code)]);

    public void Close() => _stream.Dispose();

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Dispose();
        _stream.Dispose();
        await _serving;
    }

    private static byte[] BigEndian(uint value)
    {
        byte[] bytes = new byte[4];
        BinaryPrimitives.WriteUInt32BigEndian(bytes, value);
        return bytes;
    }

    private static void AddText(List<byte> block, string text)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        int left = bytes.Length - 127;
        block.Add((byte)Math.Min(bytes.Length, 127));
        for (; left >= 128; left >>= 7)
        {
            block.Add((byte)(left | 128));
        }

        if (bytes.Length >= 127)
        {
            block.Add((byte)left);
        }

        block.AddRange(bytes);
    }

    private async Task ServeAsync()
    {
        try
        {
            while (true)
            {
                using TcpClient client = await _listener.AcceptTcpClientAsync(_end.Token);
                _stream = client.GetStream();
                try
                {
                    await TalkAsync();
                }
                catch (Exception e) when (e is IOException or ObjectDisposedException
                    or System.Security.Authentication.AuthenticationException)
                {
                    // The client left, or the test closed the connection.
                }
            }
        }
        catch (Exception e) when (_end.IsCancellationRequested
            && e is OperationCanceledException or SocketException or InvalidOperationException)
        {
            // The test is over.
        }
    }

    // With the token throughout: a connection taken while the test ends is one that Dispose cannot close.
    private async Task TalkAsync()
    {
        if (_certificate is not null)
        {
            SslStream secured = new(_stream);
            _stream = secured;
            SslServerAuthenticationOptions options = new()
            {
                ServerCertificate = _certificate,
                ApplicationProtocols = _offersHttp2 ? [SslApplicationProtocol.Http2] : [SslApplicationProtocol.Http11],
            };
            await secured.AuthenticateAsServerAsync(options, _end.Token);
        }

        await SendAsync(Settings, 0, 0, []);
        await _stream.ReadExactlyAsync(new byte[PrefaceLength], _end.Token);
        byte[] header = new byte[9];
        while (true)
        {
            await _stream.ReadExactlyAsync(header, _end.Token);
            byte[] payload = new byte[(header[0] << 16) | (header[1] << 8) | header[2]];
            await _stream.ReadExactlyAsync(payload, _end.Token);
            if (header[3] == Settings && header[4] != Ack)
            {
                await SendAsync(Settings, Ack, 0, []);
            }
            else if (header[3] == Headers)
            {
                await _answer(this, (int)BinaryPrimitives.ReadUInt32BigEndian(header.AsSpan(5)));
            }
        }
    }

    private async Task SendAsync(byte type, byte flags, int stream, byte[] payload)
    {
        int length = payload.Length;
        await _stream.WriteAsync((byte[])
        [
            (byte)(length >> 16), (byte)(length >> 8), (byte)length, type, flags, .. BigEndian((uint)stream), .. payload,
        ]);
    }
}
