using ProtoRpc.Client;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Which parameters apply to which endpoints. The others are errors, because a user who
/// gives one relies on it.</summary>
internal static class EndpointParameters
{
    private static readonly EndpointGroup[] Messages = EndpointGroup.OfMessages(EndpointFeatures.None);

    private static readonly EndpointGroup[] WithTls =
        [EndpointGroup.TlsThatIsAskedFor, .. EndpointGroup.With(EndpointFeatures.Tls)];

    private static readonly Dictionary<string, EndpointGroup[]> Takers = new(StringComparer.OrdinalIgnoreCase)
    {
        ["Service"] = Messages,
        ["InterfaceId"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["Mechanism"] = EndpointGroup.With(EndpointFeatures.Mechanisms),
        ["ProtectionLevel"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["ServicePrincipalName"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["CACertificate"] = WithTls,
        ["ClientCertificate"] = WithTls,
        ["SkipCertificateCheck"] = WithTls,
        // Without TLS it is still what a gRPC server is called by.
        ["ServerName"] =
        [
            EndpointGroup.TlsThatIsAskedFor,
            .. EndpointGroup.With(EndpointFeatures.Tls | EndpointFeatures.HostNames),
        ],
        ["Token"] = EndpointGroup.With(EndpointFeatures.Tokens),
        ["Header"] = Messages,
        ["Format"] = EndpointGroup.With(EndpointFeatures.Formats),
        ["Compression"] = EndpointGroup.With(EndpointFeatures.Gzip),
        ["ReplyCompression"] = EndpointGroup.With(EndpointFeatures.Brotli),
        ["KeepAlive"] = EndpointGroup.With(EndpointFeatures.KeepAlive),
        ["Reflection"] = EndpointGroup.With(EndpointFeatures.Reflection),
        ["CallContext"] = Messages,
        ["Extension"] = EndpointGroup.OfMessages(EndpointFeatures.HeaderExtensions),
        ["ResponseExtensionsVariable"] = EndpointGroup.OfMessages(EndpointFeatures.HeaderExtensions),
        ["ExceptionType"] = EndpointGroup.OfMessages(EndpointFeatures.ExceptionTypes),
        ["MultiPartThreshold"] = EndpointGroup.OfMessages(EndpointFeatures.Parts),
        ["ResponseHeadersVariable"] = Messages,
        ["TrailersVariable"] = Messages,
        // Parameters of listeners. HTTP endpoints also serve gRPC-Web.
        ["Certificate"] = WithTls,
        ["CertificatePassword"] = EndpointGroup.With(EndpointFeatures.OptionalTls | EndpointFeatures.Tls),
        ["CertificateCheck"] = EndpointGroup.With(EndpointFeatures.Tls),
        ["BasicCheck"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["BearerCheck"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowUnencrypted"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowedOrigin"] = EndpointGroup.With(EndpointFeatures.Browsers),
        ["AllowedHost"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowGet"] = EndpointGroup.With(EndpointFeatures.Browsers),
        ["NoReflection"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["NoHealth"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
    };

    private static readonly string[] OfAuthentication =
        ["Mechanism", "ProtectionLevel", "ServicePrincipalName"];

    /// <summary>Checks the parameters that were given.</summary>
    /// <param name="given">Their names.</param>
    /// <param name="uses">The endpoints that they are for;
    /// each parameter must apply to one of them.</param>
    /// <exception cref="RpcException">InvalidArgument: one does not apply.</exception>
    public static void Check(IEnumerable<string> given, params EndpointUse[] uses)
    {
        foreach (string name in given)
        {
            if (FindMisfit(name, uses) is { } misfit)
            {
                throw misfit;
            }
        }
    }

    /// <summary>The error for a parameter that applies to none of some endpoints; null for a parameter that
    /// applies to one of them.</summary>
    public static RpcException? FindMisfit(string name, params EndpointUse[] uses)
    {
        if (!Takers.TryGetValue(name, out EndpointGroup[]? groups)
            || uses.Any(use => groups.Any(group => group.Includes(use))))
        {
            return null;
        }

        string endpoints = Join([.. uses.Select(use => $"'{use.Endpoint}'")]);
        string others = Join([.. groups.Select(group => group.Name)]);
        return new RpcException(
            RpcStatusCode.InvalidArgument, $"-{name} does not apply to {endpoints}, only to {others}.")
        {
            ErrorId = RpcErrorIds.ParameterNotSupported,
            Endpoint = uses[0].Endpoint,
        };
    }

    /// <summary>TLS is asked for on tcp:// alone. Where an endpoint would be contacted without TLS and over a
    /// network all the same, the parameter is never ignored.</summary>
    public static RpcException? FindTlsMisfit(RpcEndpoint endpoint) =>
        endpoint.Has(EndpointFeatures.OptionalTls) ? null
        : endpoint.IsTls || endpoint.IsLocalOnly
            ? EndpointErrors.NoTls(endpoint)
            : throw EndpointErrors.NoTls(endpoint);

    /// <summary>Without a mechanism a password would be sent; it goes nowhere in clear.</summary>
    public static RpcException? FindCredentialMisfit(RpcEndpoint endpoint, RpcMechanism mechanism) =>
        endpoint.Has(EndpointFeatures.Mechanisms) ? null
        : mechanism != RpcMechanism.Default ? ClientSecurityErrors.NoMechanisms(endpoint)
        : !endpoint.Has(EndpointFeatures.Passwords) ? ClientSecurityErrors.NoPasswords(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The password");

    /// <summary>A token is for HTTP and gRPC, and goes nowhere in clear.</summary>
    public static RpcException? FindTokenMisfit(RpcEndpoint endpoint) =>
        !endpoint.Has(EndpointFeatures.Tokens) ? ClientSecurityErrors.NoTokens(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The token");

    /// <summary>Rejects parameters of authentication on anonymous connections:
    /// the calls would not be protected.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void CheckAnonymous(IEnumerable<string> given, RpcEndpoint endpoint)
    {
        if (given.Intersect(OfAuthentication, StringComparer.OrdinalIgnoreCase).FirstOrDefault() is { } name)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-{name} requires authentication, and calls to '{endpoint}' are anonymous. "
                + "Give -Credential, or -Authentication Self.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
                Endpoint = endpoint,
            };
        }
    }

    /// <summary>Checks that a parameter of a listener stands with what it is about.</summary>
    /// <param name="given">The names of all that were given.</param>
    /// <param name="name">The parameter's name.</param>
    /// <param name="missing">What it needs and does not have; null when there is nothing.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void CheckNeeded(ICollection<string> given, string name, string? missing)
    {
        if (missing is not null && given.Contains(name, StringComparer.OrdinalIgnoreCase))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-{name} requires {missing}. Give both or neither.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
            };
        }
    }

    private static string Join(string[] names) => EndpointKinds.Enumerate(names, "and");
}

/// <summary>An endpoint as a cmdlet is about to use it.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Tls">Whether TLS was asked for.</param>
/// <param name="IsRaw">Whether bytes go there and no messages.</param>
internal readonly record struct EndpointUse(RpcEndpoint Endpoint, bool Tls = false, bool IsRaw = false);
