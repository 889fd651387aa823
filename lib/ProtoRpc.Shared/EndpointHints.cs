namespace ProtoRpc;

/// <summary>Finds the endpoints that a text that is not one may have meant.</summary>
internal static class EndpointHints
{
    // The protocol sequences of DCE RPC are as near to each other as 4 letters.
    private const int MaxDistance = 2;

    /// <summary>A sentence for an error message, with a space before it; empty if nothing is near.</summary>
    public static string Of(string text)
    {
        string[] meant =
        [
            .. Find(text).FirstOrDefault(texts => texts.Any(IsEndpoint))?.Where(IsEndpoint) ?? [],
        ];
        return meant.Length == 0 ? "" : $" Did you mean '{string.Join("' or '", meant)}'?";
    }

    private static IEnumerable<IEnumerable<string>> Find(string text)
    {
        int colon = text.IndexOf(':');
        if (colon <= 0)
        {
            yield break;
        }

        string first = text[..colon];
        string rest = text[(colon + 1)..];
        if (rest.StartsWith("//", StringComparison.Ordinal))
        {
            // A known scheme is meant. Another part is wrong.
            if (EndpointKinds.OfScheme(first.ToLowerInvariant()) is null)
            {
                yield return Nearest(first, kind => kind.Scheme).Select(scheme => $"{scheme}:{rest}");
            }

            yield break;
        }

        yield return [$"{first}://{rest.TrimStart('/')}"];
        yield return Nearest(first, kind => kind.Sequence).Select(sequence => $"{sequence}:{rest}");

        int port = text.LastIndexOf(':') + 1;
        if (port < text.Length && text.AsSpan(port).IndexOfAnyExceptInRange('0', '9') < 0)
        {
            yield return [$"{text[..(port - 1)]}[{text[port..]}]"];
            yield return EndpointKinds.All
                .Where(kind => kind.HasPort && !kind.Has(EndpointFeatures.Tls))
                .Select(kind => $"{kind.Scheme}://{text}");
        }
    }

    private static IEnumerable<string> Nearest(string name, Func<EndpointKindAttribute, string> nameOf) =>
        NearestName.Find(name, EndpointKinds.All.Select(nameOf).Where(known => known.Length > 0))
            .Where(known => NearestName.Distance(name, known, MaxDistance) <= MaxDistance);

    private static bool IsEndpoint(string text) => RpcEndpoint.TryParse(text, out _);
}
