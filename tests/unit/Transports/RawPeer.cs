using System.Net;
using System.Net.Sockets;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Transports;

/// <summary>A TCP client that sends given bytes.</summary>
internal sealed class RawPeer : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
    {
        NoDelay = true,
        ReceiveTimeout = 20_000,
    };

    public RawPeer(RpcEndpoint endpoint)
    {
        _socket.Connect(IPAddress.Loopback, endpoint.Port);
    }

    public static RawPeer Bound(TestServer server)
    {
        RawPeer peer = new(server.Endpoint);
        peer.Send(Conversation.Bind(service: server.InterfaceId));
        Assert.Equal(PduType.BindAck, PduHeader.Read(peer.ReadPdu()).Type);
        return peer;
    }

    public void Send(ReadOnlySpan<byte> bytes) => _socket.Send(bytes);

    public byte[] ReadPdu()
    {
        byte[] header = ReadExactly(PduHeader.Size);
        return [.. header, .. ReadExactly(PduHeader.Read(header).FragmentLength - header.Length)];
    }

    /// <summary>Reads until the server closes.</summary>
    public byte[] ReadToEnd()
    {
        List<byte> all = [];
        byte[] buffer = new byte[4096];
        try
        {
            for (int count = _socket.Receive(buffer); count > 0; count = _socket.Receive(buffer))
            {
                all.AddRange(buffer.AsSpan(0, count));
            }
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
        {
            // Closed as well, only less politely.
        }

        return [.. all];
    }

    /// <summary>Vanishes without a farewell.</summary>
    public void Reset()
    {
        _socket.LingerState = new LingerOption(true, 0);
        _socket.Dispose();
    }

    public void Dispose() => _socket.Dispose();

    private byte[] ReadExactly(int count)
    {
        byte[] bytes = new byte[count];
        for (int read = 0; read < count;)
        {
            int part = _socket.Receive(bytes.AsSpan(read));
            Assert.NotEqual(0, part);
            read += part;
        }

        return bytes;
    }
}
