namespace ProtoRpc;

/// <summary>Reads DCE string bindings:
/// <c>[object-uuid@]protseq:host[endpoint]</c> (C706 section 3.1).</summary>
internal static class StringBindingSyntax
{
    private const string PipePrefix = @"\pipe\";

    /// <returns>Null for a text that is no endpoint, and why.</returns>
    public static RpcEndpoint? Read(string text, out string? problem)
    {
        int colon = text.IndexOf(':');
        if (colon <= 0)
        {
            problem = "it has neither '://' nor a protocol sequence followed by ':'";
            return null;
        }

        string sequence = text[..colon].ToLowerInvariant();
        if (sequence.Contains('@'))
        {
            problem = "object UUIDs are not used by this protocol";
            return null;
        }

        if (EndpointKinds.OfSequence(sequence) is not { } kind)
        {
            problem = $"protocol sequence '{sequence}' is not known";
            return null;
        }

        problem = FindPartsProblem(text[(colon + 1)..], out string host, out string endpoint);
        return problem is null ? Read(kind, host, endpoint, out problem) : null;
    }

    private static RpcEndpoint? Read(
        EndpointKindAttribute kind, string host, string endpoint, out string? problem)
    {
        int port = 0;
        bool isHere = host.Length == 0 || HostNames.IsThisMachine(host);
        problem = kind.Form switch
        {
            AddressForm.HostAndPort when !RpcEndpoint.TryReadPort(endpoint, out port) =>
                $"'{endpoint}' is not a port number",
            AddressForm.HostAndName when !IsPipe(endpoint) => @"a pipe is written [\pipe\NAME]",
            AddressForm.NameAlone when !isHere => "a local endpoint has no host",
            _ => null,
        };
        return problem is not null ? null : kind.Form switch
        {
            AddressForm.HostAndPort => RpcEndpoint.TryCreate(
                kind, host.Length == 0 ? "127.0.0.1" : host, port, "", out problem),
            AddressForm.HostAndName => RpcEndpoint.TryCreate(
                kind, HostNames.OfPipe(host.TrimStart('\\')), 0, endpoint[PipePrefix.Length..], out problem),
            _ => RpcEndpoint.TryCreate(kind, "", 0, endpoint, out problem),
        };
    }

    private static string? FindPartsProblem(string rest, out string host, out string endpoint)
    {
        (host, endpoint) = ("", "");
        int open = rest.LastIndexOf('[');
        if (open < 0 || !rest.EndsWith(']'))
        {
            return "the endpoint in square brackets is missing";
        }

        // Options after a comma ([8080,Security=...]) would be silently ignored: say so instead.
        string inside = rest[(open + 1)..^1];
        if (inside.Contains(','))
        {
            return "options after the endpoint are not supported";
        }

        // No host means this machine; a blank one is a mistake.
        endpoint = inside.Trim();
        string written = rest[..open];
        string trimmed = written.Trim();
        return HostNames.FindBracketProblem(trimmed.Length == 0 ? written : trimmed, out host);
    }

    private static bool IsPipe(string endpoint) =>
        endpoint.Replace('/', '\\').StartsWith(PipePrefix, StringComparison.OrdinalIgnoreCase);
}
