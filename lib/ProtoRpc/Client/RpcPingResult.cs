using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>The answer to a ping.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Latency">From sending to the reply, without connecting.</param>
/// <param name="Product">What the server says it is;
/// empty for servers that say nothing of themselves.</param>
/// <param name="Version">Its version, or empty.</param>
/// <param name="Services">Full names of the services it serves on that endpoint, where it says so.</param>
/// <param name="Uptime">Since the listener started, where it says so.</param>
public sealed record RpcPingResult(
    RpcEndpoint Endpoint, TimeSpan Latency, string Product,
    string Version, IReadOnlyList<string> Services, TimeSpan? Uptime)
{
    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Product']"/>
    public string Product { get; init; } = TerminalText.Neutralize(Product);

    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Version']"/>
    public string Version { get; init; } = TerminalText.Neutralize(Version);

    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Services']"/>
    public IReadOnlyList<string> Services { get; init; } = Services.Select(TerminalText.Neutralize).ToArray();

    /// <summary>The RpcPingResponse that came, whose fields are the extensions that the client's schema
    /// declares; null from a server that does not know the ping of the native protocol.</summary>
    public DynamicMessage? Reply { get; init; }

    internal RpcPingResponse? Received { get; init; }

    /// <summary>The reply of a gRPC server's health service, such as <c>Serving</c>;
    /// empty without a health service.</summary>
    public string Health { get; init; } = "";

    /// <summary>The differences between the schemas of client and server that make calls fail or lose
    /// fields; empty if there is no difference, or if the server does not send its schema.</summary>
    public IReadOnlyList<string> SchemaDifferences { get; init; } = Array.Empty<string>();
}
