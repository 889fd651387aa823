namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Endpoints, or uses of them, that a parameter may be meant for.</summary>
/// <param name="Name">As errors call them.</param>
/// <param name="Includes">Whether an endpoint is one.</param>
internal sealed record EndpointGroup(string Name, Func<EndpointUse, bool> Includes)
{
    /// <summary>Endpoints that speak TLS because the user asked for it.</summary>
    public static readonly EndpointGroup TlsThatIsAskedFor = new(
        $"{EndpointKinds.SchemesWith(EndpointFeatures.OptionalTls, "and")} with -Tls",
        use => use.Tls && use.Endpoint.Has(EndpointFeatures.OptionalTls));

    /// <summary>The kinds of endpoints that have any of some features: a group for each protocol that has
    /// them as a whole, and one for each other kind.</summary>
    public static EndpointGroup[] With(EndpointFeatures any) =>
    [
        .. EndpointKinds.All.GroupBy(kind => kind.Protocol).SelectMany(kinds => Split(kinds, any)),
    ];

    /// <summary>The same where messages go, and not bytes to an interface.</summary>
    /// <param name="any">The features; None for every kind.</param>
    public static EndpointGroup[] OfMessages(EndpointFeatures any) =>
    [
        .. EndpointKinds.All
            .Where(kind => any == EndpointFeatures.None || kind.Has(any))
            .GroupBy(kind => kind.Protocol)
            .Select(kinds => new EndpointGroup(
                kinds.First().Has(EndpointFeatures.Interfaces)
                    ? $"{kinds.Key} endpoints with -Schema"
                    : NameOf(kinds),
                use => !use.IsRaw && use.Endpoint.Kind.Protocol == kinds.Key)),
    ];

    private static IEnumerable<EndpointGroup> Split(
        IGrouping<string, EndpointKindAttribute> kinds, EndpointFeatures any) =>
        kinds.All(kind => kind.Has(any))
            ? [new(NameOf(kinds), use => use.Endpoint.Kind.Protocol == kinds.Key)]
            : kinds.Where(kind => kind.Has(any))
                .Select(kind => new EndpointGroup($"{kind.Scheme}://", use => use.Endpoint.Kind == kind));

    private static string NameOf(IGrouping<string, EndpointKindAttribute> kinds) =>
        $"{kinds.Key} endpoints ({string.Join(", ", kinds.Select(kind => $"{kind.Scheme}://"))})";
}
