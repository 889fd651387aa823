namespace ProtoRpc.PowerShell.Parameters;

/// <summary>A group of endpoints, or of uses of endpoints, that a parameter applies to.</summary>
/// <param name="Name">The name in error messages.</param>
/// <param name="Includes">Whether an endpoint belongs to the group.</param>
internal sealed record EndpointGroup(string Name, Func<EndpointUse, bool> Includes)
{
    /// <summary>Endpoints that use TLS because the user requested it.</summary>
    public static readonly EndpointGroup TlsThatIsAskedFor = new(
        $"{EndpointKinds.SchemesWith(EndpointFeatures.OptionalTls, "and")} with -Tls",
        use => use.Tls && use.Endpoint.Has(EndpointFeatures.OptionalTls));

    /// <summary>The kinds of endpoints that have any of some features. A protocol whose endpoints all have
    /// them is one group; each other kind is its own group.</summary>
    public static EndpointGroup[] With(EndpointFeatures any) =>
    [
        .. EndpointKinds.All.GroupBy(kind => kind.Protocol).SelectMany(kinds => Split(kinds, any)),
    ];

    /// <summary>Like <see cref="With"/>, but only for calls with messages, not for raw calls.</summary>
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
