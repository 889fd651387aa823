using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using ProtoRpc.Fuzz;
using ProtoRpc.Http.Tests.Faults;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>Ten thousand connections that do nothing, or as many as the handles of the process allow: both
/// ends are in this one. With PROTORPC_RECORD=1 the figures are written into docs/reliability.md.</summary>
[Collection("Measurements")]
public static class IdleConnectionTests
{
    private const int Wanted = 10_000;
    private const int OtherHandles = 1500;

    // Far over what is measured: what a connection must never cost.
    private const long MostBytes = 48 * 1024;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);
    private static readonly SortedDictionary<int, string> Rows = [];
    private static readonly string[] Measured = ["tcp", "local", "http", "grpc", "inproc"];

    // Pipes of Windows are no sockets.
    public static TheoryData<string> Protocols =>
        [.. Measured.Where(protocol => protocol != "local" || !OperatingSystem.IsWindows())];

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task Idle_connections_cost_little_and_calls_go_on_beside_them(string protocol)
    {
        int count = protocol == "inproc" ? Wanted : Math.Min(Wanted, (MaxHandles() - OtherHandles) / 2);
        RpcLimits limits = new()
        {
            MaxConnections = 2 * Wanted,
            MaxConnectionsPerAddress = 2 * Wanted,
            BindTimeout = TimeSpan.FromMinutes(10),
        };
        using BusyServer server = new(protocol, limits);
        using RpcClient client = server.Connect();
        Assert.NotNull(await BusyServer.CallAsync(client, "before"));
        Func<Task<IDisposable>> open = await OpenerAsync(protocol, server);
        List<IDisposable> idle = [await open()];
        int before = server.Counters.Connections;
        (long managed, long all) = (GC.GetTotalMemory(forceFullCollection: true), Environment.WorkingSet);
        try
        {
            for (int i = 0; i < count; i++)
            {
                idle.Add(await open());
            }

            await BusyServer.UntilAsync(
                () => server.Counters.Connections - before >= count, "all connections are open");

            // What earlier tests closed may be collected meanwhile, and give back more than was taken.
            long bytes = Math.Max(0, (GC.GetTotalMemory(forceFullCollection: true) - managed) / count);
            long resident = Math.Max(0, (Environment.WorkingSet - all) / count);
            Assert.NotNull(await BusyServer.CallAsync(client, "beside").WaitAsync(Patience));
            using RpcClient another = server.Connect();
            Assert.NotNull(await BusyServer.CallAsync(another, "another").WaitAsync(Patience));
            Assert.True(bytes <= MostBytes, $"A connection takes {bytes} bytes.");
            Record(protocol, count, bytes, resident);
        }
        finally
        {
            idle.ForEach(connection => connection.Dispose());
        }

        await BusyServer.UntilAsync(() => server.Counters.Connections <= before + 1, "all are closed");
    }

    private static async Task<Func<Task<IDisposable>>> OpenerAsync(string protocol, BusyServer server)
    {
        if (protocol == "inproc")
        {
            return () => Task.FromResult<IDisposable>(server.Connect());
        }

        byte[] hello = protocol switch
        {
            "tcp" or "local" => await BindAsync(),
            "http" => Encoding.ASCII.GetBytes(
                "GET /ProtoService.SearchService/Search?query=x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            _ => [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, 0, 0, 0, 4, 0, 0, 0, 0, 0],
        };
        EndPoint place = FaultTrial.PlaceOf(server.Endpoint);
        return async () =>
        {
            Socket socket = FaultRelay.NewSocket(place);
            await socket.ConnectAsync(place);
            await socket.SendAsync(hello);
            byte[] answer = new byte[1];
            Assert.Equal(1, await socket.ReceiveAsync(answer));
            return socket;
        };
    }

    // The first bytes of a client.
    private static async Task<byte[]> BindAsync()
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        Task connecting = Task.Run(() =>
        {
            using RpcClient client = RpcClient.Connect(
                $"ncacn_ip_tcp:127.0.0.1[{((IPEndPoint)listener.LocalEndpoint).Port}]", SearchServer.Schema,
                new RpcClientOptions { RetryCount = 0 });
        });
        using Socket socket = await listener.AcceptSocketAsync();
        byte[] buffer = new byte[4096];
        int count = await socket.ReceiveAsync(buffer);
        socket.Close();
        await Assert.ThrowsAsync<RpcException>(() => connecting);
        return buffer[..count];
    }

    private static int MaxHandles()
    {
        const string Limits = "/proc/self/limits";
        string? row = File.Exists(Limits)
            ? File.ReadLines(Limits).FirstOrDefault(line => line.StartsWith("Max open files"))
            : null;
        return row is not null && int.TryParse(
            row[26..].Trim().Split(' ')[0], CultureInfo.InvariantCulture, out int soft)
            ? soft
            : (2 * 1000) + OtherHandles;
    }

    private static void Record(string protocol, int count, long bytes, long resident)
    {
        if (Environment.GetEnvironmentVariable("PROTORPC_RECORD") != "1")
        {
            return;
        }

        Rows[Array.IndexOf(Measured, protocol)] = string.Create(
            CultureInfo.InvariantCulture, $"| {protocol} | {count:N0} | {bytes:N0} | {resident:N0} |");
        if (Rows.Count == Measured.Length)
        {
            ReliabilityPage.Open().Write("idle", string.Join('\n', [
                "| endpoint | connections | managed bytes of one | resident bytes of one |",
                "| --- | ---: | ---: | ---: |",
                .. Rows.Values,
            ]));
        }
    }
}
