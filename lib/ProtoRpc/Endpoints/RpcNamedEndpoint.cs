namespace ProtoRpc;

/// <summary>An endpoint that a user registered under a name, with what is needed to call it.</summary>
/// <remarks>It holds no secret: <see cref="Credential"/> and <see cref="Token"/> say where one is.</remarks>
public sealed record RpcNamedEndpoint
{
    /// <summary>The longest name.</summary>
    public const int MaxNameLength = 64;

    /// <summary>A named endpoint.</summary>
    /// <param name="name">Letters, digits and <c>. - _</c>; case makes no difference.</param>
    /// <param name="endpoint">Where it is.</param>
    /// <exception cref="RpcException">InvalidArgument: the name is not allowed.</exception>
    public RpcNamedEndpoint(string name, RpcEndpoint endpoint)
    {
        ArgumentNullException.ThrowIfNull(name);
        ArgumentNullException.ThrowIfNull(endpoint);
        CheckName(name);
        Name = name;
        Endpoint = endpoint;
    }

    /// <summary>The name.</summary>
    public string Name { get; }

    /// <summary>Where it is.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>Full paths of files and folders, or addresses; empty for a server with reflection.
    /// </summary>
    public IReadOnlyList<string> Schema { get; init; } = [];

    /// <summary>The service of bare method names; null for the schema's only one.</summary>
    public string? Service { get; init; }

    /// <summary>The interface id of the service; null for the service's own.</summary>
    public Guid? InterfaceId { get; init; }

    /// <summary>Words that endpoints are found by.</summary>
    public IReadOnlyList<string> Tag { get; init; } = [];

    /// <summary>As whom it is called; null for what the other members imply.</summary>
    public RpcClientAuthentication? Authentication { get; init; }

    /// <summary>The user whose password <see cref="Credential"/> refers to; null where the credential has a
    /// user name.</summary>
    public string? UserName { get; init; }

    /// <summary>Where the credential or the password is: <c>secret:[VAULT/]NAME</c> of SecretManagement, or
    /// <c>env:VARIABLE</c>; null for none.</summary>
    public string? Credential { get; init; }

    /// <summary>Where the bearer token is, as of <see cref="Credential"/>; null for none.</summary>
    public string? Token { get; init; }

    /// <summary>How the user is authenticated.</summary>
    public RpcMechanism? Mechanism { get; init; }

    /// <summary>How calls are protected.</summary>
    public RpcProtectionLevel? ProtectionLevel { get; init; }

    /// <summary>The name of the service in Kerberos.</summary>
    public string? ServicePrincipalName { get; init; }

    /// <summary>Whether TLS is spoken to an endpoint on TCP.</summary>
    public bool Tls { get; init; }

    /// <summary>The trusted authorities: full paths of files, or thumbprints.</summary>
    public IReadOnlyList<string> CACertificate { get; init; } = [];

    /// <summary>The client's certificate: the full path of a file, or a thumbprint.</summary>
    public string? ClientCertificate { get; init; }

    /// <summary>The name that the server's certificate must have.</summary>
    public string? ServerName { get; init; }

    /// <summary>The format of HTTP requests.</summary>
    public string? Format { get; init; }

    /// <summary>How requests are compressed.</summary>
    public RpcCompression? Compression { get; init; }

    /// <summary>How often a call is retried that surely did not run.</summary>
    public int? RetryCount { get; init; }

    /// <summary>The name, which can be used in place of an endpoint.</summary>
    public override string ToString() => Name;

    /// <summary>Whether a text may be a name or a pattern of names, and not an endpoint.</summary>
    internal static bool MayBeName(string text) =>
        text.Length is > 0 and <= MaxNameLength && text.All(c => IsNameCharacter(c) || c is '*' or '?');

    /// <summary>Whether a text is a pattern of names.</summary>
    internal static bool IsPattern(string text) => MayBeName(text) && text.AsSpan().IndexOfAny('*', '?') >= 0;

    private static bool IsNameCharacter(char c) => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_';

    private static void CheckName(string name)
    {
        string? problem = name.Length == 0 ? "it is empty"
            : name.Length > MaxNameLength ? $"it is longer than {MaxNameLength} characters"
            : RpcEndpoint.TryParse(name, out _) || name.AsSpan().IndexOfAny(":/[") >= 0
                ? "it looks like an endpoint"
            : !char.IsAsciiLetterOrDigit(name[0]) || !name.All(IsNameCharacter)
                ? "a name has ASCII letters, digits and . - _ and starts with a letter or a digit"
            : null;
        if (problem is not null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{TerminalText.Neutralize(name)}' cannot be the name of an endpoint: {problem}.")
            {
                ErrorId = RpcErrorIds.InvalidEndpointName,
            };
        }
    }
}
