using System.Globalization;
using ProtoRpc.Calls;
using ProtoRpc.Schema;

namespace ProtoRpc.Interop;

/// <summary>Python's gRPC server with the interoperability test service.</summary>
internal sealed class GrpcServer : IInteropServer
{
    private readonly PeerProcess _process;

    private GrpcServer(PeerProcess process, RpcEndpoint endpoint)
    {
        _process = process;
        Endpoint = endpoint;
    }

    public static RpcSchema Schema { get; } = RpcSchema.Load([Path.Combine(Folder, "protos", "interop.proto")]);

    public RpcEndpoint Endpoint { get; }

    public static string Folder => Path.Combine(AppContext.BaseDirectory, "grpc");

    /// <summary>Where the scripts find the .proto files of the module and of protoc.</summary>
    public static IEnumerable<string> ImportArguments => new[] { "protos", Path.Combine("protoc", "include") }
        .SelectMany(f => new[] { "--import-path", Path.Combine(AppContext.BaseDirectory, f) });

    public static async Task<GrpcServer> StartAsync(params string[] arguments)
    {
        PeerProcess process = PeerProcess.Start(
            Peers.Python,
            [
                Path.Combine(Folder, "interop_server.py"),
                .. ImportArguments,
                .. arguments,
            ]);
        string[] line = (await process.ReadLineAsync()).Split(' ');
        int port = int.Parse(line[1], CultureInfo.InvariantCulture);
        int unix = Array.IndexOf(arguments, "--unix");
        return new GrpcServer(process, RpcEndpoint.Parse(
            unix >= 0 ? $"grpc+unix://{arguments[unix + 1]}"
            : arguments.Contains("--certificate") ? $"grpcs://127.0.0.1:{port}"
            : $"grpc://127.0.0.1:{port}"));
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
