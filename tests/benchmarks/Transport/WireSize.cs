using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>How many bytes a call is on the wire, each way.</summary>
internal readonly record struct WireSize(int Request, int Reply)
{
    /// <summary>Counts those of the transport benchmark.</summary>
    public static WireSize Measure(RpcSchema schema, int records)
    {
        using RpcServer server = RpcCaller.Serve(schema, "ncacn_ip_tcp:127.0.0.1[0]", records);
        return Measure(server.Endpoints[0].Port, endpoint => new RpcCaller(endpoint, schema, records));
    }

    /// <summary>Counts them on a connection that goes through a relay.</summary>
    /// <param name="server">The server's port.</param>
    /// <param name="connect">Connects a caller to an endpoint.</param>
    public static WireSize Measure(int server, Func<string, ICaller> connect)
    {
        using TcpListener relay = new(IPAddress.Loopback, 0);
        relay.Start();
        int port = ((IPEndPoint)relay.LocalEndpoint).Port;
        long up = 0;
        long down = 0;
        Thread relaying = new(() =>
        {
            TcpClient near = relay.AcceptTcpClient();
            TcpClient far = new("127.0.0.1", server);
            Pump(near, far, count => Interlocked.Add(ref up, count));
            Pump(far, near, count => Interlocked.Add(ref down, count));
        })
        {
            IsBackground = true,
        };
        relaying.Start();

        using ICaller caller = connect($"ncacn_ip_tcp:127.0.0.1[{port}]");

        // The first call may come with the binding.
        caller.Call();
        (long upBefore, long downBefore) = (Interlocked.Read(ref up), Interlocked.Read(ref down));
        caller.Call();
        return new WireSize(
            (int)(Interlocked.Read(ref up) - upBefore), (int)(Interlocked.Read(ref down) - downBefore));
    }

    private static void Pump(TcpClient from, TcpClient to, Action<int> counted)
    {
        Thread pumping = new(() =>
        {
            byte[] buffer = new byte[64 * 1024];
            try
            {
                int count;
                while ((count = from.GetStream().Read(buffer)) > 0)
                {
                    // Before it is passed on, so that it is counted when the call ends.
                    counted(count);
                    to.GetStream().Write(buffer, 0, count);
                }
            }
            catch (IOException)
            {
                // The other side is gone, which ends a measurement.
            }
        })
        {
            IsBackground = true,
        };
        pumping.Start();
    }
}
