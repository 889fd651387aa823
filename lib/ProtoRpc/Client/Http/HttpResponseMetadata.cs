using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client.Http;

/// <summary>Reads the headers and trailers of an HTTP response.</summary>
internal static class HttpResponseMetadata
{
    /// <summary>The headers, except those that carry trailers.</summary>
    public static RpcMetadata HeadersOf(HttpResponseMessage response)
    {
        RpcMetadata headers = new();
        Add(headers, response.Headers.Concat(response.Content.Headers), name => IsTrailer(name)
            ? null
            : name);
        return headers;
    }

    /// <summary>The trailers: those sent as headers, and, once the body is read, those after the
    /// body.</summary>
    public static RpcMetadata TrailersOf(HttpResponseMessage response)
    {
        RpcMetadata trailers = new();
        Add(trailers, response.Headers, name => IsTrailer(name)
            ? name[HttpNames.TrailerPrefix.Length..]
            : null);
        Add(trailers, response.TrailingHeaders, name => name);
        return trailers;
    }

    private static bool IsTrailer(string name) =>
        name.Length > HttpNames.TrailerPrefix.Length
        && name.StartsWith(HttpNames.TrailerPrefix, StringComparison.OrdinalIgnoreCase);

    private static void Add(
        RpcMetadata metadata,
        IEnumerable<KeyValuePair<string, IEnumerable<string>>> headers,
        Func<string, string?> nameOf)
    {
        foreach ((string name, IEnumerable<string> values) in headers)
        {
            if (nameOf(name) is not { } known)
            {
                continue;
            }

            foreach (string value in values)
            {
                metadata.AddReceived(known, value);
            }
        }
    }
}
