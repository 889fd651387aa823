namespace ProtoRpc.Interop;

/// <summary>The clients of others, which run the test cases and say how each ended.</summary>
internal static class GrpcClientProcess
{
    /// <summary>Runs all cases that the client has, or those named.</summary>
    /// <returns>"passed" or what is wrong, by case.</returns>
    public static async Task<Dictionary<string, string>> RunAsync(
        Peer peer, RpcEndpoint endpoint, params string[] arguments)
    {
        string target = endpoint.Transport == RpcTransport.GrpcUnix
            ? $"unix:{endpoint.Name}"
            : $"127.0.0.1:{endpoint.Port}";
        using PeerProcess client = GrpcServer.StartScript(peer, "interop_client", [.. arguments, target]);
        Dictionary<string, string> results = [];
        foreach (string line in (await client.ReadToEndAsync()).Split(
            '\n', StringSplitOptions.RemoveEmptyEntries))
        {
            int colon = line.IndexOf(':');
            results[line[..colon]] = line[(colon + 1)..].Trim();
        }

        return results;
    }
}
