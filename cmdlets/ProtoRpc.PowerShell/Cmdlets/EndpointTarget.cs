namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>What an endpoint argument refers to.</summary>
/// <param name="Name">The registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null if the text is neither an endpoint nor a registered
/// name.</param>
/// <param name="Named">The registration of the name; null if the text is an endpoint.</param>
/// <param name="Error">Why there is no endpoint.</param>
internal sealed record EndpointTarget(
    string Name, RpcEndpoint? Endpoint, RpcNamedEndpoint? Named = null, RpcException? Error = null)
{
    /// <summary>The targets of several texts: one for each endpoint, and one for each registered name that
    /// matches.</summary>
    public static IReadOnlyList<EndpointTarget> Find(IEnumerable<string> texts)
    {
        // Lazy, because most texts are endpoints, and finding the registry reads the environment.
        Lazy<RpcEndpointRegistry> registry = new(static () => RpcEndpointRegistry.OfUser);
        Lazy<IReadOnlyList<RpcNamedEndpoint>> all = new(() => registry.Value.Read());
        return [.. texts.SelectMany(text => Find(text, registry, all))];
    }

    /// <summary>The only target of a text.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is a pattern that several names
    /// match.</exception>
    public static EndpointTarget FindOne(string text) => Find([text]) switch
    {
        [EndpointTarget only] => only,
        IReadOnlyList<EndpointTarget> several => throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"'{text}' stands for {several.Count} endpoints: "
            + $"{string.Join(", ", several.Take(5).Select(target => target.Name))}. Give one of them.")
        {
            ErrorId = RpcErrorIds.InvalidEndpoint,
        },
    };

    /// <summary>The text that finds the target again: the endpoint, or the registered name with its
    /// options.</summary>
    /// <exception cref="RpcException">There is no endpoint.</exception>
    public string RequireText() => Require() is var endpoint && Named is null ? endpoint.ToString() : Name;

    /// <exception cref="RpcException">The text is neither an endpoint nor a registered name.</exception>
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
