using System.Collections.Frozen;
using System.IO.Enumeration;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Gateway;

/// <summary>Says which headers and trailers pass a gateway.</summary>
internal sealed class HeaderRule(RpcGatewayOptions options)
{
    /// <summary>Counts the gateways that a call has passed.</summary>
    public const string Hops = PlainHeaders.Hops;

    // What says how messages travel on one connection: the next one has its own.
    private static readonly FrozenSet<string> OfConnection = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        Hops, "host", "date", "server", "expect", "http2-settings", "alt-svc",
        HttpNames.CallContext, HttpNames.AcceptTrailers, GrpcCallContext.HeaderName);

    private static readonly string[] PrefixesOfConnection =
        ["content-", "accept", "connect-", "proxy-", HttpNames.TrailerPrefix];

    // Identities: a caller that could send these through a gateway could use the gateway's rights, and a
    // service that receives a caller's password could use it elsewhere.
    private static readonly FrozenSet<string> OfIdentity = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "authorization", "cookie", "set-cookie", "www-authenticate", "authentication-info", "forwarded",
        "via", "x-real-ip", "api-key", "x-api-key", "apikey", "x-auth-token", "x-access-token",
        "x-csrf-token", "x-xsrf-token", "x-client-cert", "x-amz-security-token",
        "x-goog-iam-authorization-token",
        "x-ms-client-principal");

    // What browsers and caches say to the server that they see.
    private static readonly FrozenSet<string> OfBrowsers = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "origin", "referer", "user-agent", "cache-control", "pragma", "expires", "etag", "vary", "age",
        "range", "last-modified", "dnt", "priority", "upgrade-insecure-requests", "strict-transport-security",
        "x-content-type-options", "x-accel-buffering", "x-frame-options", "x-powered-by", "location",
        "retry-after", "allow");

    /// <summary>Headers that pass only where the options name them.</summary>
    public static IEnumerable<string> OfOthers => OfIdentity.Concat(OfBrowsers);

    private static readonly string[] PrefixesOfOthers =
        ["x-forwarded-", "x-client-cert-", "x-ssl-", "sec-", "if-", "access-control-"];

    /// <summary>Adds what passes to the metadata of the next call.</summary>
    public void Copy(RpcMetadata from, RpcMetadata to)
    {
        foreach ((string name, object value) in from)
        {
            if (!Passes(name))
            {
                continue;
            }

            try
            {
                if (value is byte[] bytes)
                {
                    to.Add(name, bytes);
                }
                else
                {
                    to.Add(name, (string)value);
                }
            }
            catch (RpcException)
            {
                // HTTP has names and values that the other protocols have not. The call counts more.
            }
        }
    }

    /// <summary>Whether a header passes.</summary>
    public bool Passes(string name) =>
        !IsOfConnection(name)
        && !options.BlockHeaders.Any(pattern => Matches(pattern, name))
        && (!IsOfOthers(name) || options.ForwardHeaders.Any(pattern => Matches(pattern, name)));

    private static bool IsOfConnection(string name) =>
        HttpNames.IsFraming(name) || GrpcHeaders.IsReserved(name) || OfConnection.Contains(name)
        || StartsWithOne(PrefixesOfConnection, name);

    private static bool IsOfOthers(string name) =>
        OfIdentity.Contains(name) || OfBrowsers.Contains(name) || StartsWithOne(PrefixesOfOthers, name);

    private static bool StartsWithOne(string[] prefixes, string name) =>
        prefixes.Any(prefix => name.StartsWith(prefix, StringComparison.OrdinalIgnoreCase));

    private static bool Matches(string pattern, string name) =>
        FileSystemName.MatchesSimpleExpression(pattern, name, ignoreCase: true);
}
