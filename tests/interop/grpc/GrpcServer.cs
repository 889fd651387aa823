using System.Globalization;

namespace ProtoRpc.Interop;

/// <summary>Python's or Node's gRPC server with the interoperability test service.</summary>
internal sealed class GrpcServer : IInteropServer
{
    private readonly PeerProcess _process;

    private GrpcServer(PeerProcess process, RpcEndpoint endpoint)
    {
        _process = process;
        Endpoint = endpoint;
    }

    public static RpcSchema Schema { get; } = RpcSchema.Load(
        [Path.Combine(Folder, "protos", "interop.proto")]);

    public RpcEndpoint Endpoint { get; }

    private static string Folder => Path.Combine(AppContext.BaseDirectory, "grpc");

    public static async Task<GrpcServer> StartAsync(Peer peer, params string[] arguments)
    {
        PeerProcess process = StartScript(peer, "interop_server", arguments);
        try
        {
            string[] line = (await process.ReadLineAsync()).Split(' ');
            int port = int.Parse(line[1], CultureInfo.InvariantCulture);
            int unix = Array.IndexOf(arguments, "--unix");
            return new GrpcServer(process, RpcEndpoint.Parse(
                unix >= 0 ? $"grpc+unix://{arguments[unix + 1]}"
                : arguments.Contains("--certificate") ? $"grpcs://127.0.0.1:{port}"
                : $"grpc://127.0.0.1:{port}"));
        }
        catch
        {
            process.Dispose();
            throw;
        }
    }

    /// <summary>Starts a script that the peers have each in their language.</summary>
    public static PeerProcess StartScript(Peer peer, string name, string[] arguments)
    {
        // The .proto files of the module and of protoc.
        IEnumerable<string> imports = new[] { "protos", Path.Combine("protoc", "include") }
            .SelectMany(f => new[] { "--import-path", Path.Combine(AppContext.BaseDirectory, f) });
        (string program, string script) = peer == Peer.NodeGrpc
            ? (Peers.Node, Path.Combine(AppContext.BaseDirectory, "node", $"{name}.js"))
            : (Peers.Python, Path.Combine(Folder, $"{name}.py"));
        return PeerProcess.Start(program, [script, .. imports, .. arguments]);
    }

    public RpcClient Connect(RpcClientOptions? options = null) =>
        RpcClient.Connect(Endpoint, Schema, (options ?? new()) with { Service = "grpc.testing.TestService" });

    public async Task WaitForAsync(string what)
    {
        while (await _process.ReadLineAsync() != what)
        {
        }
    }

    public void Dispose() => _process.Dispose();
}
