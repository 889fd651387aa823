namespace ProtoRpc.Interop;

/// <summary>gRPC's official interoperability test cases, by name, of Python's client against our server.</summary>
public sealed class GrpcPythonClientTests(GrpcPythonClientTests.Run run) : IClassFixture<GrpcPythonClientTests.Run>
{
    [PeerTheory(Peer.Grpc)]
    [InlineData("empty_unary")]
    [InlineData("large_unary")]
    [InlineData("client_streaming")]
    [InlineData("server_streaming")]
    [InlineData("ping_pong")]
    [InlineData("empty_stream")]
    [InlineData("client_compressed_unary")]
    [InlineData("client_compressed_streaming")]
    [InlineData("server_compressed_unary")]
    [InlineData("server_compressed_streaming")]
    [InlineData("custom_metadata")]
    [InlineData("status_code_and_message")]
    [InlineData("special_status_message")]
    [InlineData("unimplemented_method")]
    [InlineData("unimplemented_service")]
    [InlineData("cancel_after_begin")]
    [InlineData("cancel_after_first_response")]
    [InlineData("timeout_on_sleeping_server")]
    [InlineData("rpc_soak")]
    [InlineData("channel_soak")]
    [InlineData("error_details")]
    [InlineData("reflection")]
    [InlineData("health")]
    public void Case(string name) => Assert.Equal("passed", run.Results.GetValueOrDefault(name, "not run"));

    /// <summary>One run of the client for all cases.</summary>
    public sealed class Run : IAsyncLifetime
    {
        public Dictionary<string, string> Results { get; } = [];

        public async Task InitializeAsync()
        {
            if (Peers.WhyMissing(Peer.Grpc) is not null)
            {
                return;
            }

            using OwnInteropServer server = new();
            using PeerProcess client = PeerProcess.Start(
                Peers.Python,
                [
                    Path.Combine(GrpcServer.Folder, "interop_client.py"),
                    .. GrpcServer.ImportArguments,
                    $"127.0.0.1:{server.Endpoint.Port}",
                ]);
            foreach (string line in (await client.ReadToEndAsync()).Split('\n', StringSplitOptions.RemoveEmptyEntries))
            {
                int colon = line.IndexOf(':');
                Results[line[..colon]] = line[(colon + 1)..].Trim();
            }
        }

        public Task DisposeAsync() => Task.CompletedTask;
    }
}
