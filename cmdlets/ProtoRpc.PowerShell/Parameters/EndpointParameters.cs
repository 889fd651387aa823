using ProtoRpc.Client;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Defines which parameters apply to which endpoints. Other parameters are errors, because the user
/// relies on them.</summary>
internal static class EndpointParameters
{
    private static readonly EndpointGroup[] Messages = EndpointGroup.OfMessages(EndpointFeatures.None);

    private static readonly EndpointGroup[] WithTls =
        [EndpointGroup.TlsThatIsAskedFor, .. EndpointGroup.With(EndpointFeatures.Tls)];

    private static readonly EndpointGroup[] WithFormats = EndpointGroup.With(EndpointFeatures.Formats);
    private static readonly EndpointGroup GrpcWeb = EndpointGroup.Speaking(EndpointProtocol.GrpcWeb);

    // These formats also apply to gRPC-Web, or only to it. All others apply to the endpoints of the setting.
    private static readonly Dictionary<string, EndpointGroup[]> TakersOfFormats =
        new(StringComparer.OrdinalIgnoreCase)
        {
            [nameof(MessageFormats.Binary)] = [.. WithFormats, GrpcWeb],
            [RpcNamedEndpoint.GrpcWebText] = [GrpcWeb],
        };

    private static readonly Dictionary<string, EndpointGroup[]> Takers = new(StringComparer.OrdinalIgnoreCase)
    {
        ["Service"] = Messages,
        ["InterfaceId"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["Mechanism"] = EndpointGroup.With(EndpointFeatures.Mechanisms),
        ["ProtectionLevel"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["ServicePrincipalName"] = EndpointGroup.With(EndpointFeatures.Interfaces),
        ["ServerUser"] = EndpointGroup.With(EndpointFeatures.KnowsServer),
        ["CACertificate"] = WithTls,
        ["ClientCertificate"] = WithTls,
        ["SkipCertificateCheck"] = WithTls,
        // Also without TLS, because gRPC requests contain the server's name.
        ["ServerName"] =
        [
            EndpointGroup.TlsThatIsAskedFor,
            .. EndpointGroup.With(EndpointFeatures.Tls | EndpointFeatures.HostNames),
        ],
        ["Token"] = EndpointGroup.With(EndpointFeatures.Tokens),
        ["Header"] = Messages,
        ["Compression"] = EndpointGroup.With(EndpointFeatures.Compression),
        ["ReplyCompression"] = EndpointGroup.With(EndpointFeatures.CompressedReplies),
        ["HttpGet"] = [EndpointGroup.Speaking(EndpointProtocol.Connect)],
        ["KeepAlive"] = EndpointGroup.With(EndpointFeatures.KeepAlive),
        ["Reflection"] = EndpointGroup.With(EndpointFeatures.Reflection),
        ["CallContext"] = Messages,
        ["Extension"] = EndpointGroup.OfMessages(EndpointFeatures.HeaderExtensions),
        ["ExceptionType"] = EndpointGroup.OfMessages(EndpointFeatures.ExceptionTypes),
        ["ReplyInfoVariable"] = Messages,
        ["All"] = Messages,
        ["AllowUnknownField"] = Messages,
        ["AsHashtable"] = Messages,
        ["MessagePath"] = Messages,
        ["Raw"] = Messages,
        // Parameters of listeners. HTTP endpoints also serve gRPC-Web.
        ["Certificate"] = [EndpointGroup.TlsThatIsAskedFor, .. EndpointGroup.Served(EndpointFeatures.Tls)],
        ["CertificatePassword"] = EndpointGroup.Served(EndpointFeatures.OptionalTls | EndpointFeatures.Tls),
        ["CertificateCheck"] = EndpointGroup.Served(EndpointFeatures.Tls),
        ["ClientCACertificate"] = EndpointGroup.Served(EndpointFeatures.Tls),
        ["BasicCheck"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["BearerCheck"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowUnencrypted"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowedOrigin"] = EndpointGroup.With(EndpointFeatures.Browsers),
        ["AllowedUser"] = EndpointGroup.With(EndpointFeatures.OtherAccounts),
        ["AllowedGroup"] = EndpointGroup.With(EndpointFeatures.OtherAccounts),
        ["AllowedHost"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["AllowGet"] = EndpointGroup.With(EndpointFeatures.Browsers),
        ["NoReflection"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
        ["NoHealth"] = EndpointGroup.With(EndpointFeatures.AspNetCore),
    };

    private static readonly string[] OfAuthentication =
        ["Mechanism", "ProtectionLevel", "ServicePrincipalName"];

    /// <summary>Checks the given parameters.</summary>
    /// <param name="given">The names of the parameters and settings.</param>
    /// <param name="written">How the user wrote a name, for errors.</param>
    /// <param name="uses">The endpoints. Each parameter must apply to one of them.</param>
    /// <exception cref="RpcException">InvalidArgument: a parameter does not apply.</exception>
    public static void Check(
        IEnumerable<string> given, Func<string, string> written, params EndpointUse[] uses)
    {
        foreach (string name in given)
        {
            if (FindMisfit(name, written, uses) is { } misfit)
            {
                throw misfit;
            }
        }
    }

    /// <summary>The error for a parameter that applies to none of the endpoints; null if it applies to one of
    /// them.</summary>
    public static RpcException? FindMisfit(
        string name, Func<string, string> written, params EndpointUse[] uses) =>
        Takers.TryGetValue(name, out EndpointGroup[]? groups)
            ? FindMisfit(groups, written(name), uses)
            : null;

    private static RpcException? FindMisfit(EndpointGroup[] groups, string written, EndpointUse[] uses)
    {
        if (uses.Any(use => groups.Any(group => group.Includes(use))))
        {
            return null;
        }

        string endpoints = Join([.. uses.Select(use => $"'{use.Endpoint}'")]);
        string others = Join([.. groups.Select(group => group.Name)]);
        return new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
            $"{written} does not apply to {endpoints}, only to {others}.", uses[0].Endpoint);
    }

    /// <summary>The error for a format that the endpoint does not have. gRPC-Web has the binary format and a
    /// text form.</summary>
    public static RpcException? FindFormatMisfit(
        string format, Func<string, string> written, EndpointUse use)
    {
        string name = written(nameof(RpcConnectionOption.Format));
        bool namesValue = GrpcWeb.Includes(use) || TakersOfFormats.ContainsKey(format);
        return FindMisfit(
            TakersOfFormats.GetValueOrDefault(format, WithFormats),
            namesValue ? $"'{format}' as {name}" : name, [use]);
    }

    /// <summary>The error for TLS on an endpoint other than tcp://. If the endpoint would then be called over
    /// a network without TLS, the parameter is never ignored.</summary>
    public static RpcException? FindTlsMisfit(RpcEndpoint endpoint) =>
        endpoint.Has(EndpointFeatures.OptionalTls) ? null
        : endpoint.IsTls || endpoint.IsLocalOnly
            ? EndpointErrors.NoTls(endpoint)
            : throw EndpointErrors.NoTls(endpoint);

    /// <summary>The error for a credential that the endpoint does not accept, or that others could read on
    /// the network.</summary>
    public static RpcException? FindCredentialMisfit(RpcEndpoint endpoint, RpcMechanism mechanism) =>
        endpoint.Has(EndpointFeatures.Mechanisms) ? null
        : mechanism != RpcMechanism.Default ? ClientSecurityErrors.NoMechanisms(endpoint)
        : !endpoint.Has(EndpointFeatures.Passwords) ? ClientSecurityErrors.NoPasswords(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The password");

    /// <summary>The error for a token on an endpoint that is not HTTP or gRPC, or that would send it without
    /// encryption.</summary>
    public static RpcException? FindTokenMisfit(RpcEndpoint endpoint) =>
        !endpoint.Has(EndpointFeatures.Tokens) ? ClientSecurityErrors.NoTokens(endpoint)
        : ClientAuthorization.IsPrivate(endpoint) ? null
        : ClientSecurityErrors.Readable(endpoint, "The token");

    /// <summary>Rejects authentication parameters for anonymous connections, because the calls would not be
    /// protected.</summary>
    /// <exception cref="RpcException">InvalidArgument: a parameter requires authentication.</exception>
    public static void CheckAnonymous(
        IEnumerable<string> given, RpcEndpoint endpoint, Func<string, string> written)
    {
        if (given.Intersect(OfAuthentication, StringComparer.OrdinalIgnoreCase).FirstOrDefault() is { } name)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{written(name)} requires authentication, and calls to '{endpoint}' are anonymous. "
                + "Give a Credential, or 'Self' as Authentication.", endpoint);
        }
    }

    /// <summary>Checks that the parameter that another one depends on is given.</summary>
    /// <param name="given">The names of all given parameters.</param>
    /// <param name="name">The parameter's name.</param>
    /// <param name="missing">The requirement that is not met; null if it is met.</param>
    /// <param name="written">How the user wrote the name, for the error; null for the parameter.</param>
    /// <exception cref="RpcException">InvalidArgument: the requirement is not met.</exception>
    public static void CheckNeeded(
        IEnumerable<string> given, string name, string? missing, string? written = null)
    {
        if (missing is not null && given.Contains(name, StringComparer.OrdinalIgnoreCase))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{written ?? $"-{name}"} requires {missing}. Give both or neither.");
        }
    }

    private static string Join(string[] names) => EndpointKinds.Enumerate(names, "and");
}

/// <summary>An endpoint, and how a cmdlet uses it.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Tls">Whether the user requested TLS.</param>
/// <param name="IsRaw">Whether the calls send raw bytes instead of messages.</param>
internal readonly record struct EndpointUse(RpcEndpoint Endpoint, bool Tls = false, bool IsRaw = false);

/// <summary>A group of endpoints, or of uses of endpoints, that a parameter applies to.</summary>
/// <param name="Name">The name in error messages.</param>
/// <param name="Includes">Whether an endpoint belongs to the group.</param>
internal sealed record EndpointGroup(string Name, Func<EndpointUse, bool> Includes)
{
    /// <summary>Endpoints that use TLS because the user requested it.</summary>
    public static readonly EndpointGroup TlsThatIsAskedFor = new(
        $"{EndpointKinds.SchemesWith(EndpointFeatures.OptionalTls, "and")} with Tls",
        use => use.Tls && use.Endpoint.Has(EndpointFeatures.OptionalTls));

    /// <summary>The kinds of endpoints that have any of some features. A protocol whose endpoints all have
    /// them is one group; each other kind is its own group.</summary>
    public static EndpointGroup[] With(EndpointFeatures any) => Find(EndpointKinds.All, any);

    /// <summary>The endpoints of a protocol.</summary>
    public static EndpointGroup Speaking(string protocol) => new(
        NameOf(EndpointKinds.All.GroupBy(kind => kind.Protocol).First(kinds => kinds.Key == protocol)),
        use => use.Endpoint.Kind.Protocol == protocol);

    /// <summary>Like <see cref="With"/>, but only the kinds that listeners can have.</summary>
    public static EndpointGroup[] Served(EndpointFeatures any) => Find(EndpointKinds.Served, any);

    /// <summary>Like <see cref="With"/>, but only for calls with messages, not for raw calls.</summary>
    /// <param name="any">The features; None for every kind.</param>
    public static EndpointGroup[] OfMessages(EndpointFeatures any) =>
    [
        .. EndpointKinds.All
            .Where(kind => any == EndpointFeatures.None || kind.Has(any))
            .GroupBy(kind => kind.Protocol)
            .Select(kinds => new EndpointGroup(
                kinds.First().Has(EndpointFeatures.Interfaces)
                    ? $"{kinds.Key} endpoints with -Schema"
                    : NameOf(kinds),
                use => !use.IsRaw && use.Endpoint.Kind.Protocol == kinds.Key)),
    ];

    private static EndpointGroup[] Find(IEnumerable<EndpointKindAttribute> all, EndpointFeatures any) =>
        [.. all.GroupBy(kind => kind.Protocol).SelectMany(kinds => Split(kinds, any))];

    private static IEnumerable<EndpointGroup> Split(
        IGrouping<string, EndpointKindAttribute> kinds, EndpointFeatures any) =>
        kinds.All(kind => kind.Has(any))
            ? [new(NameOf(kinds), use => use.Endpoint.Kind.Protocol == kinds.Key)]
            : kinds.Where(kind => kind.Has(any))
                .Select(kind => new EndpointGroup($"{kind.Scheme}://", use => use.Endpoint.Kind == kind));

    private static string NameOf(IGrouping<string, EndpointKindAttribute> kinds) =>
        $"{kinds.Key} endpoints ({string.Join(", ", kinds.Select(kind => $"{kind.Scheme}://"))})";
}
