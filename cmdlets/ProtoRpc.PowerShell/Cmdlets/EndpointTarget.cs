namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>What the user wrote as an endpoint leads to.</summary>
/// <param name="Name">The registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null for a text that is neither.</param>
/// <param name="Named">What was registered under the name; null for an endpoint itself.</param>
/// <param name="Error">Why there is no endpoint.</param>
internal sealed record EndpointTarget(
    string Name, RpcEndpoint? Endpoint, RpcNamedEndpoint? Named = null, RpcException? Error = null)
{
    /// <summary>The targets of some texts: one for each endpoint, and one for each registered name that
    /// matches.</summary>
    public static IReadOnlyList<EndpointTarget> Find(IEnumerable<string> texts)
    {
        // Most texts are endpoints, and where the names lie is asked of the environment.
        Lazy<RpcEndpointRegistry> registry = new(static () => RpcEndpointRegistry.OfUser);
        Lazy<IReadOnlyList<RpcNamedEndpoint>> all = new(() => registry.Value.Read());
        return [.. texts.SelectMany(text => Find(text, registry, all))];
    }

    /// <exception cref="RpcException">Why there is no endpoint.</exception>
    public RpcEndpoint Require() => Endpoint ?? throw Error!;

    private static IEnumerable<EndpointTarget> Find(
        string text, Lazy<RpcEndpointRegistry> registry, Lazy<IReadOnlyList<RpcNamedEndpoint>> all)
    {
        if (RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint))
        {
            return [new(text, endpoint)];
        }

        try
        {
            return registry.Value.Resolve(text, all)
                .Select(named => new EndpointTarget(named.Name, named.Endpoint, named));
        }
        catch (RpcException e)
        {
            return [new(text, null, Error: e)];
        }
    }
}
