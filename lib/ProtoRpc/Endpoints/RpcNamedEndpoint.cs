namespace ProtoRpc;

/// <summary>An endpoint that a user registered with a name, and the options for calling it.</summary>
/// <remarks>Contains no secrets: <see cref="Credential"/> and <see cref="Token"/> are references.</remarks>
public sealed record RpcNamedEndpoint
{
    /// <summary>The maximum length of a name.</summary>
    public const int MaxNameLength = 64;

    /// <summary>The format of gRPC-Web endpoints that is not a <see cref="MessageFormat"/>: base64 of binary
    /// messages and frames, <c>application/grpc-web-text</c>.</summary>
    internal const string GrpcWebText = nameof(GrpcWebText);

    /// <summary>Creates a named endpoint.</summary>
    /// <param name="name">Letters, digits and <c>. - _</c>; case-insensitive.</param>
    /// <param name="endpoint">The endpoint.</param>
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

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>Full paths of files and folders, or addresses; empty for a server with reflection.
    /// </summary>
    public IReadOnlyList<string> Schema { get; init; } = [];

    /// <summary>The service for bare method names; null for the only service of the schema.</summary>
    public string? Service { get; init; }

    /// <summary>The interface id of the service; null for the service's own.</summary>
    public Guid? InterfaceId { get; init; }

    /// <summary>Tags for finding endpoints.</summary>
    public IReadOnlyList<string> Tag { get; init; } = [];

    /// <summary>The authentication; null if the other members determine it.</summary>
    public RpcClientAuthentication? Authentication { get; init; }

    /// <summary>The user name for the password that <see cref="Credential"/> refers to; null if the
    /// credential contains the user name.</summary>
    public string? UserName { get; init; }

    /// <summary>A reference to the credential or password: <c>secret:[VAULT/]NAME</c> of SecretManagement, or
    /// <c>env:VARIABLE</c>; null for none.</summary>
    public string? Credential { get; init; }

    /// <summary>A reference to the bearer token, in the form of <see cref="Credential"/>; null for
    /// none.</summary>
    public string? Token { get; init; }

    /// <summary>How the user is authenticated.</summary>
    public RpcMechanism? Mechanism { get; init; }

    /// <summary>How calls are protected.</summary>
    public RpcProtectionLevel? ProtectionLevel { get; init; }

    /// <summary>The Kerberos service principal name of the service.</summary>
    public string? ServicePrincipalName { get; init; }

    /// <summary>The account that must run the server of a local endpoint.</summary>
    public string? ServerUser { get; init; }

    /// <summary>Whether to use TLS on an endpoint on TCP.</summary>
    public bool Tls { get; init; }

    /// <summary>The trusted CA certificates: full paths of files, or thumbprints.</summary>
    public IReadOnlyList<string> CACertificate { get; init; } = [];

    /// <summary>The client's certificate: the full path of a file, or a thumbprint.</summary>
    public string? ClientCertificate { get; init; }

    /// <summary>The server name that the certificate must contain.</summary>
    public string? ServerName { get; init; }

    /// <summary>The format of HTTP requests: the name of a <see cref="MessageFormat"/>, or
    /// <c>GrpcWebText</c> for the text form of gRPC-Web; null for the binary format.</summary>
    public string? Format { get; init; }

    /// <summary>How requests are compressed.</summary>
    public RpcCompression? Compression { get; init; }

    /// <summary>Whether methods without side effects are called by GET over Connect.</summary>
    public bool HttpGet { get; init; }

    /// <summary>Which failed calls to retry, how often, and after which pauses; null for no
    /// retries.</summary>
    public RpcRetryPolicy? Retry { get; init; }

    /// <summary>Whether gRPC-Web uses its text form.</summary>
    internal bool IsGrpcWebText => GrpcWebText.Equals(Format, StringComparison.OrdinalIgnoreCase);

    /// <summary>The name, which can be used instead of an endpoint.</summary>
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpointName,
                $"'{TerminalText.Neutralize(name)}' cannot be the name of an endpoint: {problem}.");
        }
    }
}

/// <summary>A reference to a secret. The secret itself is never stored in a file.</summary>
/// <param name="IsVariable">Whether it is an environment variable; otherwise a secret of
/// SecretManagement.</param>
/// <param name="Vault">The vault of the secret; null for the default one.</param>
/// <param name="Name">The name of the variable or the secret.</param>
internal sealed record SecretReference(bool IsVariable, string? Vault, string Name)
{
    /// <summary>The forms of a reference.</summary>
    public const string Forms = "'secret:NAME' or 'secret:VAULT/NAME' (SecretManagement), or 'env:VARIABLE'";

    private const string Secret = "secret:";
    private const string Variable = "env:";

    /// <summary>Reads a reference.</summary>
    /// <param name="text">The reference.</param>
    /// <param name="what">The name of the secret, for the error.</param>
    /// <exception cref="RpcException">InvalidArgument: the text is not a reference. The error does not show
    /// the text, which may be a secret.</exception>
    public static SecretReference Parse(string text, string what)
    {
        if (text.StartsWith(Variable, StringComparison.OrdinalIgnoreCase)
            && IsName(text[Variable.Length..], "=/"))
        {
            return new(true, null, text[Variable.Length..]);
        }

        string[] parts = text.StartsWith(Secret, StringComparison.OrdinalIgnoreCase)
            ? text[Secret.Length..].Split('/')
            : [];
        return parts.Length is 1 or 2 && parts.All(part => IsName(part, "*?"))
            ? new(false, parts.Length == 2 ? parts[0] : null, parts[^1])
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.PlainSecret,
                $"{what} is not the reference of a secret: write {Forms}. The secret itself would stay in "
                + "files and in the history of the shell.");
    }

    /// <summary>Whether a text is written as a reference, right or wrong, and not as a name.</summary>
    public static bool IsReference(string text) =>
        text.StartsWith(Variable, StringComparison.OrdinalIgnoreCase)
        || text.StartsWith(Secret, StringComparison.OrdinalIgnoreCase);

    /// <summary>The value of the environment variable.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the variable is not set.</exception>
    public string ReadVariable() => Environment.GetEnvironmentVariable(Name) is { Length: > 0 } value
        ? value
        : throw NotFound($"the environment variable '{Name}' is not set");

    /// <summary>The failure of a reference that leads to nothing.</summary>
    public RpcException NotFound(string why, Exception? cause = null) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.SecretNotFound,
        $"The secret '{this}' cannot be read: {why}.", cause);

    public override string ToString() =>
        IsVariable ? $"{Variable}{Name}" : $"{Secret}{(Vault is null ? "" : $"{Vault}/")}{Name}";

    private static bool IsName(string text, string forbidden) => text.Length is > 0 and <= 256
        && !text.Any(c => char.IsControl(c) || forbidden.Contains(c, StringComparison.Ordinal));
}
