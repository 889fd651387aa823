using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>The answer to a ping.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Latency">The time from sending to the reply, without connecting.</param>
/// <param name="Product">The server's product; empty if the server does not report it.</param>
/// <param name="Version">The product's version, or empty.</param>
/// <param name="Services">The full names of the endpoint's services, if the server reports them.</param>
/// <param name="Uptime">The time since the listener started, if the server reports it.</param>
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

    /// <summary>The received RpcPingResponse, whose fields are the extensions that the client's schema
    /// declares; null if the server does not support the native protocol's ping.</summary>
    public DynamicMessage? Reply { get; init; }

    internal RpcPingResponse? Received { get; init; }

    /// <summary>The reply of a gRPC server's health service, such as <c>Serving</c>;
    /// empty without a health service.</summary>
    public string Health { get; init; } = "";

    /// <summary>The differences between the schemas of client and server that make calls fail or lose
    /// fields; empty if there is no difference, or if the server does not send its schema.</summary>
    public IReadOnlyList<string> SchemaDifferences { get; init; } = Array.Empty<string>();
}
