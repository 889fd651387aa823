using System.Net.Http.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>The header User-Agent of all requests over HTTP: RFC 9110, section 10.1.5.</summary>
internal static class UserAgent
{
    /// <summary>ProtoRpc's product name and version.</summary>
    public static string Value { get; } =
        $"protorpc/{typeof(UserAgent).Assembly.GetName().Version?.ToString(3)}";

    private const string Name = "User-Agent";

    /// <summary>Adds ProtoRpc's product. The caller's own products stay before it, because the most
    /// significant product comes first.</summary>
    public static void Add(HttpRequestHeaders headers)
    {
        // A retry may send the same request again.
        if (!headers.NonValidated.TryGetValues(Name, out HeaderStringValues given) || !given.Contains(Value))
        {
            headers.TryAddWithoutValidation(Name, Value);
        }
    }
}
