using System.Collections;
using System.Management.Automation;
using System.Net;
using System.Reflection;
using System.Security;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Security;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to servers. Adds the parameters for authentication and
/// trust.</summary>
/// <remarks>The parameters are virtual, because not every parameter set of every cmdlet has them. The shell
/// reads the attributes of the overriding property.</remarks>
public abstract class RpcConnectingCommand : RpcCmdlet
{
    private static readonly HashSet<string> OfConnecting = new(
        typeof(RpcConnectingCommand)
            .GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
            .Select(property => property.Name),
        StringComparer.OrdinalIgnoreCase);

    private readonly SecretReader _secrets = new();
    private IReadOnlySet<string> _ignored = new HashSet<string>();

    private protected RpcConnectingCommand()
    {
    }

    [Parameter]
    public virtual RpcClientAuthentication? Authentication { get; set; }

    [Parameter]
    [Credential]
    [ValidateNotNull]
    public virtual PSCredential? Credential { get; set; }

    [Parameter]
    [ValidateNotNull]
    public virtual SecureString? Token { get; set; }

    [Parameter]
    public virtual RpcMechanism Mechanism { get; set; }

    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public virtual RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public virtual string? ServicePrincipalName { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public virtual string? ServerUser { get; set; }

    [Parameter]
    public virtual SwitchParameter Tls { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public virtual RpcCertificateSource[] CACertificate { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public virtual RpcCertificateSource? ClientCertificate { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public virtual string? ServerName { get; set; }

    [Parameter]
    public virtual SwitchParameter SkipCertificateCheck { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public virtual IDictionary? Header { get; set; }

    /// <summary>The parameters of this class that were given.</summary>
    private protected IEnumerable<string> GivenForConnecting =>
        MyInvocation.BoundParameters.Keys.Where(OfConnecting.Contains);

    /// <summary>Finds the given parameters that do not apply to an endpoint. This is an error for a single
    /// endpoint, because the user relies on the parameter. With several endpoints, a parameter that applies
    /// to another one is ignored for this one.</summary>
    /// <param name="endpoint">The endpoint to connect to next.</param>
    /// <param name="all">All endpoints that the parameters were given for.</param>
    /// <param name="isRaw">Whether the calls send raw bytes instead of messages.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = null;
        CheckGiven(endpoint, all, isRaw);
    }

    private void CheckGiven(RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw)
    {
        HashSet<string> ignored = new(StringComparer.OrdinalIgnoreCase);
        foreach (string name in MyInvocation.BoundParameters.Keys)
        {
            if (FindMisfit(name, endpoint, isRaw) is not { } misfit)
            {
                continue;
            }

            if (all.All(other => FindMisfit(name, other, isRaw) is not null))
            {
                throw misfit;
            }

            WriteVerbose($"{misfit.Message} It is ignored for this endpoint.");
            ignored.Add(name);
        }

        _ignored = ignored;
        if (AuthenticationOf() <= RpcClientAuthentication.Anonymous)
        {
            EndpointParameters.CheckAnonymous(MyInvocation.BoundParameters.Keys.Where(Takes), endpoint);
        }

        HeaderMapping.CheckSecrets(Takes(nameof(Header)) ? Header : null, endpoint);
    }

    /// <summary>Whether a parameter applies to the endpoint that was checked last.</summary>
    private protected bool Takes(string parameter) => !_ignored.Contains(parameter);

    /// <summary>The options for connecting to the endpoint that was checked last.</summary>
    private protected virtual RpcClientOptions CreateOptions() => new()
    {
        Security = CreateSecurity(),
        UseTls = UsesTls,
        Tls = CreateTls(),
        Headers = HeaderMapping.ToMetadata(Takes(nameof(Header)) ? Header : null),
    };

    /// <summary>The options for connecting to the server of a schema. Credentials are only sent to hosts that
    /// are called, not to another host that only has the schema. The certificate authorities apply to
    /// both.</summary>
    /// <param name="endpoint">The server of the schema.</param>
    /// <param name="all">The endpoints that are called.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected RpcClientOptions SchemaOptionsFor(
        RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all)
    {
        IReadOnlyCollection<RpcEndpoint> own = Named is null ? all : [Named.Endpoint];
        if (!own.Any(other => other.Host.Equals(endpoint.Host, StringComparison.OrdinalIgnoreCase)))
        {
            return new RpcClientOptions
            {
                Tls = new RpcTlsOptions { CaCertificates = CreateTls().CaCertificates },
            };
        }

        CheckGiven(endpoint, [.. own, endpoint], isRaw: false);
        return CreateOptions();
    }

    private RpcException? FindMisfit(string name, RpcEndpoint endpoint, bool isRaw) =>
        EndpointParameters.FindMisfit(name, new EndpointUse(endpoint, UsesTls, isRaw))
        ?? (OfConnecting.Contains(name) ? FindMisfit(name, endpoint) : null);

    // Misfits that depend on the value of a parameter, or on other parameters.
    private RpcException? FindMisfit(string name, RpcEndpoint endpoint) => name.ToUpperInvariant() switch
    {
        "TLS" when Tls => EndpointParameters.FindTlsMisfit(endpoint),
        "CREDENTIAL" => EndpointParameters.FindCredentialMisfit(endpoint, Mechanism),
        "TOKEN" => EndpointParameters.FindTokenMisfit(endpoint),
        "AUTHENTICATION" => Authentication switch
        {
            RpcClientAuthentication.User => EndpointParameters.FindCredentialMisfit(endpoint, Mechanism),
            RpcClientAuthentication.Bearer => EndpointParameters.FindTokenMisfit(endpoint),
            RpcClientAuthentication.Self when !endpoint.Has(EndpointFeatures.OwnAccount) =>
                ClientSecurityErrors.NoMechanisms(endpoint),
            _ => null,
        },
        _ => null,
    };

    // A given credential or token is always used, or reported as an error; never ignored.
    private RpcClientAuthentication AuthenticationOf() =>
        (Takes(nameof(Authentication)) ? Authentication : RpcClientAuthentication.None)
        ?? (Credential is not null && Takes(nameof(Credential)) ? RpcClientAuthentication.User
            : Token is not null && Takes(nameof(Token)) ? RpcClientAuthentication.Bearer
            : RpcClientAuthentication.None);

    private static readonly string[] OfIdentity =
        [nameof(Authentication), nameof(Credential), nameof(Token)];

    private readonly Dictionary<string, RpcSchema> _schemas = [];

    // Each file is read once for all endpoints; there may be thousands of endpoints.
    private readonly Dictionary<string, X509Certificate2Collection> _authorities = [];
    private readonly Dictionary<string, X509Certificate2> _clientCertificates = [];

    /// <summary>The registration that was checked last; null for an endpoint without one.</summary>
    private protected RpcNamedEndpoint? Named { get; private set; }

    private bool UsesTls => IsGiven(nameof(Tls)) ? Tls && Takes(nameof(Tls)) : Named?.Tls == true;

    /// <summary>Checks the parameters for an endpoint or a registered name. The options of the name apply
    /// from then on.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        EndpointTarget target, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = target.Named;
        CheckGiven(target.Require(), all, isRaw);
    }

    /// <summary>Whether a parameter was given.</summary>
    private protected virtual bool IsGiven(string parameter) =>
        MyInvocation.BoundParameters.ContainsKey(parameter);

    /// <summary>The schema that is registered with a name; null for none. The options of the name apply from
    /// then on.</summary>
    private protected RpcSchema? NamedSchema(EndpointTarget target)
    {
        Named = target.Named;
        if (Named is not { Schema.Count: > 0 })
        {
            return null;
        }

        if (!_schemas.TryGetValue(Named.Name, out RpcSchema? schema))
        {
            _schemas[Named.Name] = schema = ResolveKept(RpcSchemaSource.From(Named));
        }

        return schema;
    }

    /// <summary>Clears the registration that was checked last.</summary>
    private protected void ForgetNamed() => Named = null;

    // If the command sets the authentication, the registered credential must not be sent.
    private RpcClientSecurity CreateSecurity() =>
        Named is not null && !OfIdentity.Any(IsGiven) ? NamedSecurity(Named) : GivenSecurity();

    private RpcClientSecurity GivenSecurity() => new()
    {
        Authentication = AuthenticationOf(),
        Credential = Takes(nameof(Credential)) ? Credential?.GetNetworkCredential() : null,
        Token = Token is not null && Takes(nameof(Token)) ? new NetworkCredential("", Token).Password : null,
        Mechanism = MechanismOf(Named),
        ProtectionLevel = ProtectionLevelOf(Named),
        ServicePrincipalName = ServicePrincipalNameOf(Named),
        ServerUser = ServerUserOf(Named),
    };

    private RpcClientSecurity NamedSecurity(RpcNamedEndpoint named) => new()
    {
        Authentication = named.Authentication
            ?? (named.Credential is not null ? RpcClientAuthentication.User
                : named.Token is not null ? RpcClientAuthentication.Bearer
                : RpcClientAuthentication.None),
        Credential = _secrets.CredentialOf(named),
        Token = _secrets.TokenOf(named),
        Mechanism = MechanismOf(named),
        ProtectionLevel = ProtectionLevelOf(named),
        ServicePrincipalName = ServicePrincipalNameOf(named),
        ServerUser = ServerUserOf(named),
    };

    private RpcMechanism MechanismOf(RpcNamedEndpoint? named) => IsGiven(nameof(Mechanism))
        ? Takes(nameof(Mechanism)) ? Mechanism : RpcMechanism.Default
        : named?.Mechanism ?? Mechanism;

    private RpcProtectionLevel ProtectionLevelOf(RpcNamedEndpoint? named) =>
        IsGiven(nameof(ProtectionLevel)) ? ProtectionLevel : named?.ProtectionLevel ?? ProtectionLevel;

    private string? ServicePrincipalNameOf(RpcNamedEndpoint? named) => IsGiven(nameof(ServicePrincipalName))
        ? Takes(nameof(ServicePrincipalName)) ? ServicePrincipalName : null
        : named?.ServicePrincipalName;

    private string? ServerUserOf(RpcNamedEndpoint? named) => IsGiven(nameof(ServerUser))
        ? Takes(nameof(ServerUser)) ? ServerUser : null
        : named?.ServerUser;

    private RpcTlsOptions CreateTls() => new()
    {
        CaCertificates = CACertificate.Length > 0 ? Authorities("", CACertificate)
            : Named is { CACertificate: { Count: > 0 } paths }
                ? Authorities(Named.Name, paths.Select(path => new RpcCertificateSource(path)))
            : null,
        ClientCertificate = ClientCertificate is { } given ? OwnCertificate("", given)
            : Named?.ClientCertificate is { } path
                ? OwnCertificate(Named.Name, new RpcCertificateSource(path))
            : null,
        ServerName = ServerName ?? Named?.ServerName,
        SkipCertificateCheck = SkipCertificateCheck,
    };

    private X509Certificate2Collection Authorities(string key, IEnumerable<RpcCertificateSource> sources)
    {
        if (!_authorities.TryGetValue(key, out X509Certificate2Collection? all))
        {
            _authorities[key] = all = [.. sources.SelectMany(source => source.ReadAll(ResolveLiteral))];
        }

        return all;
    }

    private X509Certificate2 OwnCertificate(string key, RpcCertificateSource source)
    {
        if (!_clientCertificates.TryGetValue(key, out X509Certificate2? certificate))
        {
            _clientCertificates[key] = certificate = source.ReadWithKey(ResolveLiteral);
        }

        return certificate;
    }
}

/// <summary>What an endpoint argument refers to.</summary>
/// <param name="Name">The registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null if the text is neither an endpoint nor a registered
/// name.</param>
/// <param name="Named">The registration of the name; null if the text is an endpoint.</param>
/// <param name="Error">Why there is no endpoint.</param>
internal sealed record EndpointTarget(
    string Name, RpcEndpoint? Endpoint, RpcNamedEndpoint? Named = null, RpcException? Error = null)
{
    /// <summary>The targets of several texts: one for each endpoint, and one for each registered name that
    /// matches.</summary>
    public static IReadOnlyList<EndpointTarget> Find(IEnumerable<string> texts)
    {
        // Lazy, because most texts are endpoints, and finding the registry reads the environment.
        Lazy<RpcEndpointRegistry> registry = new(static () => RpcEndpointRegistry.OfUser);
        Lazy<IReadOnlyList<RpcNamedEndpoint>> all = new(() => registry.Value.Read());
        return [.. texts.SelectMany(text => Find(text, registry, all))];
    }

    /// <summary>The only target of a text.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is a pattern that several names
    /// match.</exception>
    public static EndpointTarget FindOne(string text) => Find([text]) switch
    {
        [EndpointTarget only] => only,
        IReadOnlyList<EndpointTarget> several => throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpoint,
            $"'{text}' stands for {several.Count} endpoints: "
            + $"{string.Join(", ", several.Take(5).Select(target => target.Name))}. Give one of them."),
    };

    /// <summary>The text that finds the target again: the endpoint, or the registered name with its
    /// options.</summary>
    /// <exception cref="RpcException">There is no endpoint.</exception>
    public string RequireText() => Require() is var endpoint && Named is null ? endpoint.ToString() : Name;

    /// <exception cref="RpcException">The text is neither an endpoint nor a registered name.</exception>
    public RpcEndpoint Require() => Endpoint ?? throw Error!;

    private static IEnumerable<EndpointTarget> Find(
        string text, Lazy<RpcEndpointRegistry> registry, Lazy<IReadOnlyList<RpcNamedEndpoint>> all)
    {
        if (RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint))
        {
            return [new(text, endpoint)];
        }

        try
        {
            return registry.Value.Resolve(text, all)
                .Select(named => new EndpointTarget(named.Name, named.Endpoint, named));
        }
        catch (RpcException e)
        {
            return [new(text, null, Error: e)];
        }
    }
}

/// <summary>Reads the secrets that named endpoints refer to, each once: environment variables, and secrets of
/// the module SecretManagement.</summary>
/// <remarks>Use it only on the pipeline thread.</remarks>
internal sealed class SecretReader
{
    private const string GetSecret = @"Microsoft.PowerShell.SecretManagement\Get-Secret";

    private readonly Dictionary<SecretReference, object> _read = [];

    /// <summary>The credential of a named endpoint; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public NetworkCredential? CredentialOf(RpcNamedEndpoint named)
    {
        if (named.Credential is null)
        {
            return null;
        }

        SecretReference reference = SecretReference.Parse(named.Credential, nameof(named.Credential));
        object secret = Read(reference);
        if (secret is PSCredential credential)
        {
            return named.UserName is null
                ? credential.GetNetworkCredential()
                : new PSCredential(named.UserName, credential.Password).GetNetworkCredential();
        }

        SecureString password = secret switch
        {
            SecureString secure => secure,
            string text => new NetworkCredential("", text).SecurePassword,
            _ => throw WrongType(reference, secret, "a PSCredential, a SecureString or a string"),
        };
        return named.UserName is { } user
            ? new PSCredential(user, password).GetNetworkCredential()
            : throw reference.NotFound(
                "it is a password without a user name. Register the endpoint with -UserName");
    }

    /// <summary>The bearer token of a named endpoint; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public string? TokenOf(RpcNamedEndpoint named)
    {
        if (named.Token is null)
        {
            return null;
        }

        SecretReference reference = SecretReference.Parse(named.Token, nameof(named.Token));
        return Read(reference) switch
        {
            string text => text,
            SecureString secret => new NetworkCredential("", secret).Password,
            PSCredential credential => credential.GetNetworkCredential().Password,
            object other => throw WrongType(reference, other, "a SecureString or a string"),
        };
    }

    private static RpcException WrongType(SecretReference reference, object secret, string wanted) =>
        reference.NotFound($"it is a {secret.GetType().Name}, not {wanted}");

    private object Read(SecretReference reference)
    {
        if (!_read.TryGetValue(reference, out object? secret))
        {
            _read[reference] = secret = reference.IsVariable
                ? reference.ReadVariable()
                : Get(reference);
        }

        return secret;
    }

    private static object Get(SecretReference reference)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        shell.AddCommand(GetSecret)
            .AddParameter("Name", reference.Name)
            .AddParameter("ErrorAction", ActionPreference.Stop);
        if (reference.Vault is not null)
        {
            shell.AddParameter("Vault", reference.Vault);
        }

        try
        {
            return shell.Invoke() is [{ } only]
                ? only.BaseObject
                : throw reference.NotFound("SecretManagement has no such secret");
        }
        catch (CommandNotFoundException e)
        {
            throw reference.NotFound(
                "the module Microsoft.PowerShell.SecretManagement is not installed. Install it, or use the "
                + "reference of an environment variable",
                e);
        }
        catch (RuntimeException e)
        {
            throw reference.NotFound(e.Message.TrimEnd('.'), e);
        }
    }
}
