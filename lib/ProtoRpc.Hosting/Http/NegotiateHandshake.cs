using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using ProtoRpc.Security;

namespace ProtoRpc.Hosting.Http;

/// <summary>Negotiate and NTLM over HTTP (RFC 4559): tokens in headers,
/// and then the whole connection is proved.</summary>
internal sealed class NegotiateHandshake(SecurityPolicy policy)
{
    // What agrees on the others comes last in their table, and first here.
    private static readonly (string Scheme, byte Package)[] Schemes =
    [
        .. SecurityMechanisms.All.Where(mechanism => mechanism.HttpScheme is not null)
            .Select(mechanism => (mechanism.HttpScheme!, mechanism.Package)).Reverse(),
    ];

    /// <summary>Sends the accepted authentication schemes to a client.</summary>
    public void Challenge(HttpResponse response)
    {
        foreach ((string scheme, byte package) in Schemes)
        {
            if (policy.Offers(package))
            {
                response.Headers.Append("WWW-Authenticate", scheme);
            }
        }
    }

    /// <summary>Takes the token of a request, if it has one of ours.</summary>
    /// <param name="http">The request.</param>
    /// <param name="proved">Who it is, when that is proved now;
    /// else null, and the answer carries the next token.</param>
    /// <returns>Whether there was a token.</returns>
    public bool TryStep(HttpContext http, out PeerIdentity? proved)
    {
        proved = null;
        string header = http.Request.Headers.Authorization.ToString();
        foreach ((string scheme, byte package) in Schemes)
        {
            if (header.StartsWith(scheme + " ", StringComparison.OrdinalIgnoreCase) && policy.Offers(package))
            {
                proved = Step(http, scheme, package, header[(scheme.Length + 1)..].Trim());
                return true;
            }
        }

        return false;
    }

    private static void End(ConnectionPeer connection)
    {
        connection.Handshake?.Dispose();
        connection.Handshake = null;
    }

    // The certificate that this connection was opened with, which can have been replaced since.
    private static byte[]? BindingOf(HttpContext http) =>
        http.Features.Get<ISslStreamFeature>()?.SslStream.LocalCertificate is X509Certificate2 certificate
            ? TlsEndPoint.BindingOf(certificate)
            : null;

    private PeerIdentity? Step(HttpContext http, string scheme, byte package, string token)
    {
        ConnectionPeer connection = ConnectionPeer.Of(http);
        SecurityContext handshake = connection.Handshake ??= policy.TryBegin(package, BindingOf(http))!;
        try
        {
            byte[] answer = handshake.Step(Convert.FromBase64String(token));
            if (answer.Length > 0 || !handshake.IsComplete)
            {
                http.Response.Headers.WWWAuthenticate =
                    $"{scheme} {Convert.ToBase64String(answer)}".TrimEnd();
            }

            if (!handshake.IsComplete)
            {
                return null;
            }

            connection.Identity = connection.Identity! with { User = handshake.Identity };
            connection.IsProved = true;
            End(connection);
            return connection.Identity;
        }
        catch (Exception e) when (e is RpcException or FormatException or CryptographicException)
        {
            // The last one as where a system forbids MD5.
            End(connection);
            Challenge(http.Response);
            return null;
        }
    }
}
