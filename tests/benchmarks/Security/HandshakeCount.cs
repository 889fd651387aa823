using System.Net;
using System.Net.Sockets;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Security;

/// <summary>What a client sends for some calls, counted by a relay on the way:
/// the proof is to be paid for once.</summary>
internal readonly record struct HandshakeCount(int Connections, int Binds, int LastTokens, int Requests)
{
    private const int HeaderSize = 16;
    private const byte Request = 0;
    private const byte Bind = 11;
    private const byte Auth3 = 16;

    public static HandshakeCount Of(string kind, int calls)
    {
        RpcSchema schema = SampleData.LoadSchema();
        using RpcServer server = RpcCaller.Serve(
            schema, "ncacn_ip_tcp:127.0.0.1[0]", 0, CallSecurity.OfServer(kind));
        using TcpListener relay = new(IPAddress.Loopback, 0);
        relay.Start();
        int[] kinds = new int[256];
        int connections = 0;
        Thread relaying = new(() =>
        {
            try
            {
                while (true)
                {
                    TcpClient near = relay.AcceptTcpClient();
                    TcpClient far = new("127.0.0.1", server.Endpoints[0].Port) { NoDelay = true };
                    near.NoDelay = true;
                    Interlocked.Increment(ref connections);
                    Start(() => CopyPdus(near.GetStream(), far.GetStream(), kinds));
                    Start(() => far.GetStream().CopyTo(near.GetStream()));
                }
            }
            catch (SocketException)
            {
                // Stopped, which ends the measurement.
            }
        })
        {
            IsBackground = true,
        };
        relaying.Start();

        int port = ((IPEndPoint)relay.LocalEndpoint).Port;
        using RpcCaller caller = new(
            $"ncacn_ip_tcp:127.0.0.1[{port}]", schema, 0, CallSecurity.OfClient(kind));
        for (int i = 0; i < calls; i++)
        {
            caller.Call();
        }

        return new HandshakeCount(
            Volatile.Read(ref connections),
            Volatile.Read(ref kinds[Bind]),
            Volatile.Read(ref kinds[Auth3]),
            Volatile.Read(ref kinds[Request]));
    }

    // Every PDU says its kind and its length; each is counted before it goes on.
    private static void CopyPdus(NetworkStream from, NetworkStream to, int[] kinds)
    {
        byte[] pdu = new byte[ushort.MaxValue];
        while (true)
        {
            from.ReadExactly(pdu, 0, HeaderSize);
            int length = BitConverter.ToUInt16(pdu, 8);
            from.ReadExactly(pdu, HeaderSize, length - HeaderSize);
            Interlocked.Increment(ref kinds[pdu[2]]);
            to.Write(pdu, 0, length);
        }
    }

    private static void Start(Action copy) => new Thread(() =>
    {
        try
        {
            copy();
        }
        catch (IOException)
        {
            // One side is gone.
        }
    })
    {
        IsBackground = true,
    }.Start();
}
