using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client.Http;

/// <summary>What came beside the body of an HTTP answer.</summary>
internal static class HttpResponseMetadata
{
    /// <summary>The headers, without those that stand for trailers.</summary>
    public static RpcMetadata HeadersOf(HttpResponseMessage response)
    {
        RpcMetadata headers = new();
        Add(headers, response.Headers.Concat(response.Content.Headers), name => IsTrailer(name)
            ? null
            : name);
        return headers;
    }

    /// <summary>The trailers: those that came as headers,
    /// and those behind the body once it was read.</summary>
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
