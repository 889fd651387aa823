using System.Globalization;
using ProtoRpc.Benchmarks.Peers;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>One stack in processes of their own: a server and its clients.</summary>
internal sealed class WorkerStack : IDisposable
{
    private readonly Worker? _server;
    private readonly List<Worker> _clients = [];

    private WorkerStack(string kind, Worker? server)
    {
        Kind = kind;
        _server = server;
    }

    /// <summary>One of <see cref="CallKind"/>, or a peer's title.</summary>
    public string Kind { get; }

    /// <summary>Its processes.</summary>
    public IEnumerable<Worker> Workers => _server is null ? _clients : [_server, .. _clients];

    /// <summary>Starts server and clients.</summary>
    /// <param name="kind">One of <see cref="CallKind"/>.</param>
    /// <param name="address">Where the server listens.</param>
    /// <param name="records">Records in each message.</param>
    /// <param name="size">The frames of the raw echo.</param>
    /// <param name="options">How many clients and callers.</param>
    public static WorkerStack Start(
        string kind, string address, int records, WireSize size, BenchmarkOptions options) => Start(
        kind,
        () => Worker.Server(kind, address, records, size),
        server => Worker.Client(kind, server, records, size, options.Callers),
        options.Clients);

    /// <summary>Starts server and clients of a peer.</summary>
    /// <param name="stack">The peer and its address.</param>
    /// <param name="records">Records in each message.</param>
    /// <param name="options">How many clients and callers.</param>
    public static WorkerStack Start(PeerStack stack, int records, BenchmarkOptions options) => Start(
        stack.Title,
        () => Worker.Server(stack.Peer, stack.NextAddress(), records),
        server => Worker.Client(stack.Peer, server, records, options.Callers),
        options.Clients);

    /// <summary>Starts all callers in one process, which serves itself.</summary>
    /// <param name="kind">One of <see cref="CallKind"/>.</param>
    /// <param name="records">Records in each message.</param>
    /// <param name="options">How many clients and callers.</param>
    public static WorkerStack StartInProcess(string kind, int records, BenchmarkOptions options) => Start(
        kind,
        () => null,
        _ => Worker.Client(
            kind, WorkerRole.InProcess, records, default, options.Clients * options.Callers),
        clients: 1);

    /// <summary>Lets all clients call at the same time.</summary>
    public CallRound Call(TimeSpan time)
    {
        ResourceUse before = _server?.Use() ?? default;
        CallRound round = Worker.Round(_clients, time);
        return round with { Server = (_server?.Use() ?? default) - before };
    }

    public void Dispose()
    {
        _clients.ForEach(client => client.Dispose());
        _server?.Dispose();
    }

    /// <summary>An address for a stack over a transport that no other stack of this process has.</summary>
    /// <param name="kind">One of <see cref="CallKind"/>.</param>
    /// <param name="transport">One of <see cref="BenchmarkOptions.KnownTransports"/>.</param>
    /// <param name="folder">Where sockets of the bare kinds may lie.</param>
    public static string AddressOf(string kind, string transport, string folder)
    {
        bool isBare = CallKind.IsBare(kind);
        string name = string.Create(
            CultureInfo.InvariantCulture, $"ProtoRpcBench-{kind.Replace('@', '-')}-{Environment.ProcessId}");
        return transport switch
        {
            "tcp" => isBare ? "127.0.0.1:0" : "ncacn_ip_tcp:127.0.0.1[0]",
            _ when isBare => Path.Combine(folder, kind),
            "np" => $@"ncacn_np:[\pipe\{name}]",
            _ => $"ncalrpc:[{name}]",
        };
    }

    private static WorkerStack Start(
        string kind, Func<Worker?> serve, Func<string, Worker> connect, int clients)
    {
        WorkerStack stack = new(kind, serve());
        try
        {
            for (int i = 0; i < clients; i++)
            {
                stack._clients.Add(connect(stack._server?.Told ?? ""));
            }

            return stack;
        }
        catch
        {
            stack.Dispose();
            throw;
        }
    }
}
