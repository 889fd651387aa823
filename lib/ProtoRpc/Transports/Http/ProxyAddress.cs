using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>The address of a proxy as people write it: <c>http://user:password@proxy:3128</c>, or
/// <c>proxy:3128</c>.</summary>
internal static class ProxyAddress
{
    /// <summary>The proxy of an address; null if the address is missing or cannot be read.</summary>
    public static WebProxy? Read(string? text)
    {
        if (string.IsNullOrWhiteSpace(text))
        {
            return null;
        }

        string address = text.Contains("://", StringComparison.Ordinal) ? text : $"http://{text}";
        if (!Uri.TryCreate(address, UriKind.Absolute, out Uri? uri) || uri.Host.Length == 0)
        {
            return null;
        }

        WebProxy proxy = new(new UriBuilder(uri.Scheme, uri.Host, uri.Port).Uri);
        if (uri.UserInfo.Length > 0)
        {
            string[] parts = uri.UserInfo.Split(':', 2);
            proxy.Credentials = new NetworkCredential(
                Uri.UnescapeDataString(parts[0]), parts.Length > 1 ? Uri.UnescapeDataString(parts[1]) : "");
        }

        return proxy;
    }
}
