namespace ProtoRpc;

/// <summary>Reads DCE string bindings:
/// <c>[object-uuid@]protseq:host[endpoint,option]</c> (C706 section 3.1).</summary>
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

        if (EndpointKinds.OfSequence(sequence) is null)
        {
            problem = $"protocol sequence '{sequence}' is not known";
            return null;
        }

        problem = FindPartsProblem(
            text[(colon + 1)..], out string host, out string endpoint, out string option);
        if (problem is not null)
        {
            return null;
        }

        // An option that has no effect would be silently ignored: report it instead.
        if (EndpointKinds.OfSequence(sequence, option) is not { } kind)
        {
            problem = FindOptionProblem(sequence);
            return null;
        }

        return Read(kind, host, endpoint, out problem);
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

    private static string FindOptionProblem(string sequence)
    {
        string[] known =
        [
            .. EndpointKinds.All.Where(kind => kind.Sequence == sequence && kind.Option.Length > 0)
                .Select(kind => $"'{kind.Option}'"),
        ];
        return known.Length == 0
            ? $"options after the endpoint are not supported by {sequence}"
            : $"of the options after the endpoint, {sequence} supports only {string.Join(", ", known)}";
    }

    private static string? FindPartsProblem(
        string rest, out string host, out string endpoint, out string option)
    {
        (host, endpoint, option) = ("", "", "");
        int open = rest.LastIndexOf('[');
        if (open < 0 || !rest.EndsWith(']'))
        {
            return "the endpoint in square brackets is missing";
        }

        string inside = rest[(open + 1)..^1];
        int comma = inside.IndexOf(',');
        if (comma >= 0)
        {
            option = inside[(comma + 1)..].Trim();
            inside = inside[..comma];
            if (option.Length == 0)
            {
                return "the option after the comma is missing";
            }
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
