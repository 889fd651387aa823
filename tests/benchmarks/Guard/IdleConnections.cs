using System.Net.Sockets;
using System.Runtime;
using System.Text;
using ProtoRpc.Benchmarks.Transport;
using ProtoRpc.Server;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>Measures what a connection without calls costs a server: many are opened by another process, each
/// makes a request, and the memory of the server's process is read before and after.</summary>
internal static class IdleConnections
{
    private const int Connections = 10_000;

    // The first ones bring code and threads that the others use as well.
    private const int First = 200;

    private const double Kibibyte = 1024;

    /// <summary>Measures an endpoint.</summary>
    /// <param name="what">How results name it.</param>
    /// <param name="address">The endpoint.</param>
    /// <param name="most">The bound, in KiB for each connection.</param>
    public static GuardFigure Measure(string what, string address, double most)
    {
        using Worker server = Worker.Server(Report.ExperimentRole.Idle, address, 0, default);
        using Worker first = Worker.Client(Report.ExperimentRole.Idle, server.Told, 0, default, First);
        long before = Settled(server);
        using Worker others = Worker.Client(Report.ExperimentRole.Idle, server.Told, 0, default, Connections);
        double each = (Settled(server) - before) / Kibibyte / Connections;
        return new GuardFigure($"{what}, memory of an idle connection", each, most, "KiB");
    }

    /// <summary>A server that takes as many connections.</summary>
    public static IRpcServer Serve(string address)
    {
        RpcSchema schema = SampleData.LoadSchema();
        DynamicMessage reply = new(schema.GetMethod("Test").ReplyType);
        int most = 2 * (First + Connections);
        RpcServerOptions options = new()
        {
            Limits = new RpcLimits { MaxConnections = most, MaxConnectionsPerAddress = most },
        };
        return RpcServer.Create(schema, options: options.WithHttp())
            .Handle("Test", (_, _) => new ValueTask<Google.Protobuf.IMessage>(reply))
            .AddEndpoint(address)
            .StartListening();
    }

    /// <summary>Opens a connection and makes one request over it.</summary>
    public static ICaller Connect(string address) => RpcEndpoint.Parse(address) is { IsNative: false } http
        ? new HttpConnection(http)
        : new NativeConnection(address);

    /// <summary>Gives memory that is not needed back to the system, before it is measured.</summary>
    public static void Collect()
    {
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    }

    private static long Settled(Worker server)
    {
        server.Use();
        return server.WorkingSet;
    }

    private sealed class NativeConnection : ICaller
    {
        private static readonly RpcSchema Schema = SampleData.LoadSchema();
        private readonly RpcClient _client;

        public NativeConnection(string address)
        {
            _client = RpcClient.Connect(address, Schema);
            Call();
        }

        public void Call() => _client.Invoke("Test", new Dictionary<string, object?>());

        public void Dispose() => _client.Dispose();
    }

    // A bare socket: thousands of HTTP clients would need much memory of their own.
    private sealed class HttpConnection : ICaller
    {
        private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp);

        public HttpConnection(RpcEndpoint endpoint)
        {
            _socket.Connect(endpoint.Host, endpoint.Port);
            Call();
        }

        public void Call()
        {
            _socket.Send("OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8);
            byte[] answer = new byte[1024];
            int count = 0;
            while (!answer.AsSpan(0, count).EndsWith("\r\n\r\n"u8))
            {
                int read = _socket.Receive(answer, count, answer.Length - count, SocketFlags.None);
                count += read > 0
                    ? read
                    : throw new IOException(
                        $"The server said '{Encoding.ASCII.GetString(answer, 0, count)}'.");
            }
        }

        public void Dispose() => _socket.Dispose();
    }
}
