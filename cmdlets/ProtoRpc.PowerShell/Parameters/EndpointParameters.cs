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
        ["Header"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["Format"] = [EndpointKind.Http],
        ["Compression"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["KeepAlive"] = [EndpointKind.Grpc],
        ["Reflection"] = [EndpointKind.Grpc],
        ["RetryCount"] = [EndpointKind.Grpc],
        ["CallContext"] = [EndpointKind.NativeWithSchema, EndpointKind.Http, EndpointKind.Grpc],
        ["ExceptionType"] = [EndpointKind.NativeWithSchema],
        ["MultiPartThreshold"] = [EndpointKind.NativeWithSchema],
        ["ResponseHeadersVariable"] = [EndpointKind.Http, EndpointKind.Grpc],
        ["TrailersVariable"] = [EndpointKind.Grpc],
        ["WaitForReady"] = [EndpointKind.Grpc],
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
            if (Takers.TryGetValue(name, out EndpointKind[]? kinds)
                && !uses.Any(use => kinds.Any(kind => kind.Includes(use))))
            {
                string endpoints = Join([.. uses.Select(use => $"'{use.Endpoint}'")]);
                string others = Join([.. kinds.Select(kind => kind.Name)]);
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"-{name} means nothing to {endpoints}. It is for {others}.")
                {
                    ErrorId = "ParameterNotSupported",
                    Endpoint = uses[0].Endpoint,
                };
            }
        }
    }

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
                ErrorId = "ParameterNotSupported",
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
                RpcStatusCode.InvalidArgument, $"-{name} means nothing without {missing}. Give both, or none.")
            {
                ErrorId = "ParameterNotSupported",
            };
        }
    }

    private static string Join(string[] names) => names.Length == 1
        ? names[0]
        : $"{string.Join(", ", names[..^1])} and {names[^1]}";
}
