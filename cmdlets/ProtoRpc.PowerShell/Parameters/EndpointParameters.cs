using ProtoRpc.Client;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.PowerShell;

/// <summary>Which parameters mean something to which endpoints. The others are refused:
/// who gives one counts on it.</summary>
internal static class EndpointParameters
{
    private static readonly Dictionary<string, EndpointKind[]> Takers = new(StringComparer.OrdinalIgnoreCase)
    {
        ["Service"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        ["InterfaceId"] = [EndpointKind.Native],
        ["Mechanism"] = [EndpointKind.Native, EndpointKind.Http],
        ["ProtectionLevel"] = [EndpointKind.Native],
        ["ServicePrincipalName"] = [EndpointKind.Native],
        ["CACertificate"] = [EndpointKind.TcpWithTls, EndpointKind.Https, EndpointKind.Grpcs],
        ["ClientCertificate"] = [EndpointKind.TcpWithTls, EndpointKind.Https, EndpointKind.Grpcs],
        ["SkipCertificateCheck"] = [EndpointKind.TcpWithTls, EndpointKind.Https, EndpointKind.Grpcs],
        // Without TLS it is still what a gRPC server is called by.
        ["ServerName"] = [EndpointKind.TcpWithTls, EndpointKind.Https, EndpointKind.Grpc],
        ["Token"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["Header"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        ["Format"] = [EndpointKind.Http],
        ["Compression"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["KeepAlive"] = [EndpointKind.Grpc],
        ["Reflection"] = [EndpointKind.Grpc],
        ["CallContext"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        ["ExceptionType"] = [EndpointKind.NativeWithSchema],
        ["MultiPartThreshold"] = [EndpointKind.NativeWithSchema],
        ["Extension"] = [EndpointKind.NativeWithSchema],
        ["ResponseExtensionsVariable"] = [EndpointKind.NativeWithSchema],
        ["ResponseHeadersVariable"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        ["TrailersVariable"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        // Of listeners. HTTP endpoints speak gRPC-Web, too.
        ["TlsCertificate"] = [EndpointKind.Tcp],
        ["Certificate"] = [EndpointKind.Https, EndpointKind.Grpcs],
        ["CertificatePassword"] = [EndpointKind.Tcp, EndpointKind.Https, EndpointKind.Grpcs],
        ["CertificateCheck"] = [EndpointKind.Https, EndpointKind.Grpcs],
        ["BasicCheck"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["BearerCheck"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["AllowUnencrypted"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["AllowedOrigin"] = [EndpointKind.Http],
        ["AllowedHost"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["AllowGet"] = [EndpointKind.Http],
        ["NoReflection"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["NoHealth"] = [EndpointKind.Http, EndpointKind.Grpc],
    };

    private static readonly string[] OfAuthentication =
        ["Mechanism", "ProtectionLevel", "ServicePrincipalName"];

    /// <summary>Checks the parameters that were given.</summary>
    /// <param name="given">Their names.</param>
    /// <param name="uses">The endpoints that they are for;
    /// each parameter must mean something to one of them.</param>
    /// <exception cref="RpcException">InvalidArgument: one means nothing there.</exception>
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

    /// <summary>What is wrong with a parameter that means nothing to any of some endpoints; null for one that
    /// means something to one of them.</summary>
    public static RpcException? FindMisfit(string name, params EndpointUse[] uses)
    {
        if (!Takers.TryGetValue(name, out EndpointKind[]? kinds)
            || uses.Any(use => kinds.Any(kind => kind.Includes(use))))
        {
            return null;
        }

        string endpoints = Join([.. uses.Select(use => $"'{use.Endpoint}'")]);
        string others = Join([.. kinds.Select(kind => kind.Name)]);
        return new RpcException(
            RpcStatusCode.InvalidArgument, $"-{name} means nothing to {endpoints}. It is for {others}.")
        {
            ErrorId = RpcErrorIds.ParameterNotSupported,
            Endpoint = uses[0].Endpoint,
        };
    }

    /// <summary>TLS is asked for on tcp:// alone. Where an endpoint would be contacted without TLS and over a
    /// network all the same, the parameter is never ignored.</summary>
    public static RpcException? FindTlsMisfit(RpcEndpoint endpoint) => endpoint.Transport == RpcTransport.Tcp
        ? null
        : endpoint.IsTls || endpoint.IsLocalOnly
            ? EndpointErrors.NoTls(endpoint)
            : throw EndpointErrors.NoTls(endpoint);

    /// <summary>gRPC has passwords, and no mechanism; a password goes nowhere in clear.</summary>
    public static RpcException? FindCredentialMisfit(RpcEndpoint endpoint, RpcMechanism mechanism) =>
        !endpoint.IsGrpc ? null
        : mechanism != RpcMechanism.Default ? ClientSecurityErrors.NotNative(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The password");

    /// <summary>A token is for HTTP and gRPC, and goes nowhere in clear.</summary>
    public static RpcException? FindTokenMisfit(RpcEndpoint endpoint) =>
        endpoint.IsNative ? ClientSecurityErrors.NoTokens(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The token");

    /// <summary>Checks that nothing is said of an authentication that nobody asked for:
    /// the calls would go out unprotected.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void CheckAnonymous(IEnumerable<string> given, RpcEndpoint endpoint)
    {
        if (given.Intersect(OfAuthentication, StringComparer.OrdinalIgnoreCase).FirstOrDefault() is { } name)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-{name} means nothing to an anonymous caller of '{endpoint}'. "
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
                $"-{name} means nothing without {missing}. Give both, or none.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
            };
        }
    }

    private static string Join(string[] names) => names.Length == 1
        ? names[0]
        : $"{string.Join(", ", names[..^1])} and {names[^1]}";
}
