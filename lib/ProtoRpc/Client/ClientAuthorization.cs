using System.Net;
using ProtoRpc.Security;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client;

/// <summary>Creates the header Authorization: for bearer tokens, and for passwords over gRPC, which has no
/// challenge for .NET's HTTP client.</summary>
internal static class ClientAuthorization
{
    private const string Header = "authorization";

    /// <summary>Whether only the endpoint, or only this machine, can read what is sent there.</summary>
    public static bool IsPrivate(RpcEndpoint endpoint) =>
        endpoint.IsTls || endpoint.IsLocalOnly
        || endpoint.Servers.All(server => HttpTransport.IsLoopback(server.Host));

    /// <exception cref="RpcException">InvalidArgument or Unimplemented: the credential cannot be sent to the
    /// endpoint.</exception>
    public static void Check(RpcEndpoint endpoint, RpcClientOptions options)
    {
        RpcClientSecurity security = options.Security;
        switch (security.Authentication)
        {
            case RpcClientAuthentication.Bearer when !endpoint.Has(EndpointFeatures.Tokens):
                throw ClientSecurityErrors.NoTokens(endpoint);
            case RpcClientAuthentication.Self when !endpoint.Has(EndpointFeatures.OwnAccount):
            case RpcClientAuthentication.User when !endpoint.Has(EndpointFeatures.Mechanisms)
                && security.Mechanism != RpcMechanism.Default:
                throw ClientSecurityErrors.NoMechanisms(endpoint);
            case RpcClientAuthentication.User when !endpoint.Has(EndpointFeatures.Passwords):
                throw ClientSecurityErrors.NoPasswords(endpoint);
            case RpcClientAuthentication.Bearer when !IsPrivate(endpoint):
                throw ClientSecurityErrors.Readable(endpoint, "The token");
            case RpcClientAuthentication.User when endpoint.IsGrpc && !IsPrivate(endpoint):
                throw ClientSecurityErrors.Readable(endpoint, "The password");
        }
    }

    /// <summary>Adds the header to the options, if the endpoint requires one.</summary>
    /// <exception cref="RpcException">InvalidArgument: the credential cannot be sent, or the headers already
    /// contain Authorization.</exception>
    public static RpcClientOptions Apply(RpcEndpoint endpoint, RpcClientOptions options)
    {
        if (HeaderOf(endpoint, options.Security) is not { } value)
        {
            return options;
        }

        if (options.Headers.GetAll(Header).Count > 0)
        {
            throw ClientSecurityErrors.NotSendable(
                endpoint,
                "the headers already contain Authorization. Remove it, or the token or credential");
        }

        RpcMetadata headers = new();
        headers.Add(Header, value);
        foreach ((string name, object other) in options.Headers)
        {
            if (other is byte[] bytes)
            {
                headers.Add(name, bytes);
            }
            else
            {
                headers.Add(name, (string)other);
            }
        }

        return options with { Headers = headers };
    }

    private static string? HeaderOf(RpcEndpoint endpoint, RpcClientSecurity security) =>
        security.Authentication switch
        {
            RpcClientAuthentication.Bearer when endpoint.Has(EndpointFeatures.Tokens) =>
                $"Bearer {TokenOf(endpoint, security.Token!)}",
            RpcClientAuthentication.User when endpoint.IsGrpc =>
                $"Basic {BasicOf(endpoint, security.Credential!)}",
            _ => null,
        };

    // RFC 6750, section 2.1: a token has no spaces and no characters that need quoting.
    private static string TokenOf(RpcEndpoint endpoint, string token) => token.All(c => c is > ' ' and <= '~')
        ? token
        : throw ClientSecurityErrors.NotSendable(
            endpoint,
            "the token contains a space or a non-ASCII character. Give the token alone, without 'Bearer'");

    // RFC 7617: the user name ends at the first colon.
    private static string BasicOf(RpcEndpoint endpoint, NetworkCredential credential)
    {
        string user = string.IsNullOrEmpty(credential.Domain)
            ? credential.UserName
            : $@"{credential.Domain}\{credential.UserName}";
        return user.Contains(':')
            ? throw ClientSecurityErrors.NotSendable(endpoint, $"the user name '{user}' has a colon")
            : Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user}:{credential.Password}"));
    }
}
