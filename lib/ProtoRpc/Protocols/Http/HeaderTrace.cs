using System.Collections.Frozen;

namespace ProtoRpc.Protocols.Http;

/// <summary>Formats HTTP and gRPC headers for a trace, without credentials.</summary>
internal static class HeaderTrace
{
    private const int MaxHeaders = 50;
    private const int MaxValueLength = 100;

    private static readonly FrozenSet<string> Secret = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate",
        "authentication-info", "proxy-authentication-info", "cookie", "cookie2", "set-cookie", "set-cookie2",
        HttpNames.CallContext);

    // Custom headers with secrets, such as x-api-key, usually have one of these words in their names.
    private static readonly string[] SecretWords =
    [
        "auth", "token", "secret", "passw", "pwd", "key", "credential", "session", "signature", "cookie",
        "jwt",
    ];

    /// <summary>Whether a trace omits the value of a header: it is a credential, or binary.</summary>
    public static bool IsMasked(string name) =>
        IsSecret(name) || name.EndsWith("-bin", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether the name of a header says that its value is a credential.</summary>
    public static bool IsSecret(string name) => Secret.Contains(name)
        || SecretWords.Any(word => name.Contains(word, StringComparison.OrdinalIgnoreCase));

    /// <summary>Headers in one line: <c>; name: value</c> each.</summary>
    public static string TextOf(IEnumerable<KeyValuePair<string, string>> headers)
    {
        List<string> shown = [];
        int more = 0;
        foreach ((string name, string value) in headers)
        {
            if (shown.Count == MaxHeaders)
            {
                more++;
                continue;
            }

            shown.Add($"; {name}: {ValueOf(name, value)}");
        }

        return string.Concat(shown) + (more > 0 ? $"; and {more} more" : "");
    }

    private static string ValueOf(string name, string value) =>
        IsMasked(name) ? $"({value.Length} characters)"
        : value.Length <= MaxValueLength ? value
        : string.Concat(value.AsSpan(0, MaxValueLength), $"... ({value.Length} characters)");
}
