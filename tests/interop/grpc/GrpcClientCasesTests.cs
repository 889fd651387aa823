namespace ProtoRpc.Interop;

/// <summary>The official test cases, and some more, of the clients of others against our server.</summary>
[PeerCall(
    "grpcio", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
        | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Compression | PeerCalls.ErrorDetails
        | PeerCalls.Reflection | PeerCalls.Health)]
[PeerCall(
    "@grpc/grpc-js", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
        | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Compression | PeerCalls.ErrorDetails
        | PeerCalls.Reflection | PeerCalls.Health)]
public sealed class GrpcClientCasesTests(GrpcClientCasesTests.Runs runs)
    : IClassFixture<GrpcClientCasesTests.Runs>
{
    public static IEnumerable<string> Cases =>
        [.. InteropCases.Names, "error_details", "reflection", "health"];

    [Theory]
    [PeerData(Peer.PythonGrpc, nameof(Cases))]
    [PeerData(Peer.NodeGrpc, nameof(Cases))]
    public async Task Peers_client(Peer peer, string name) =>
        Assert.Equal("passed", (await runs.OfAsync(peer)).GetValueOrDefault(name, "not run"));

    /// <summary>One run of each client for all its cases.</summary>
    public sealed class Runs
    {
        private readonly Dictionary<Peer, Task<Dictionary<string, string>>> _runs = [];

        public Task<Dictionary<string, string>> OfAsync(Peer peer) =>
            _runs.TryGetValue(peer, out Task<Dictionary<string, string>>? run)
                ? run
                : _runs[peer] = RunAsync(peer);

        private static async Task<Dictionary<string, string>> RunAsync(Peer peer)
        {
            using OwnInteropServer server = new();
            return await GrpcClientProcess.RunAsync(peer, server.Endpoint);
        }
    }
}
