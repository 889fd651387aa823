using System.Net;
using System.Security;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Security;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to servers. Adds the parameter for how to connect, and merges it
/// with the cmdlet's own parameters and with what is registered with a name.</summary>
/// <remarks>The parameter is virtual, because not every parameter set of every cmdlet has it. The shell reads
/// the attributes of the overriding property.</remarks>
public abstract class RpcConnectingCommand : RpcCmdlet
{
    private static readonly HashSet<string> Settings =
        new(RpcOption.NamesOf(typeof(RpcConnectionOption)), StringComparer.OrdinalIgnoreCase);

    // The settings that may differ between two calls over one connection.
    private static readonly string[] OfCalls =
    [
        nameof(RpcConnectionOption.Compression), nameof(RpcConnectionOption.Header),
        nameof(RpcConnectionOption.Retry), nameof(RpcConnectionOption.WaitForReady),
    ];

    private readonly SecretReader _secrets = new();
    private readonly Dictionary<string, RpcSchema> _schemas = [];

    // Each file is read once for all endpoints; there may be thousands of endpoints.
    private readonly Dictionary<string, X509Certificate2Collection> _authorities = [];
    private readonly Dictionary<string, X509Certificate2> _clientCertificates = [];

    private protected RpcConnectingCommand()
    {
    }

    [Parameter]
    [ValidateNotNull]
    [ConnectionOptionTable]
    [ArgumentCompleter(typeof(ConnectionOptionCompleter))]
    public virtual RpcConnectionOption? ConnectionOption { get; set; }

    /// <summary>The settings that are parameters of the cmdlet itself.</summary>
    private protected RpcConnectionOption Own { get; } = new();

    /// <summary>The settings of the command line: those of -ConnectionOption, and over them those of own
    /// parameters.</summary>
    private protected RpcConnectionOption CommandOption => ConnectionOption?.WithOwn(Own) ?? Own;

    /// <summary>The settings for the endpoint that was checked last, without those that do not apply to it.
    /// The settings of -ConnectionOption override those of the registered name, and the cmdlet's own
    /// parameters override both.</summary>
    private protected RpcConnectionOption Option { get; private set; } = new();

    /// <summary>The registration that was checked last; null for an endpoint without one.</summary>
    private protected RpcNamedEndpoint? Named { get; private set; }

    /// <summary>The names of the given settings and parameters.</summary>
    private protected IEnumerable<string> Given => ConnectionOption is null
        ? GivenParameters
        : GivenParameters.Where(name => name != nameof(ConnectionOption))
            .Concat(ConnectionOption.Given)
            .Distinct(StringComparer.OrdinalIgnoreCase);

    /// <summary>The parameters of the command line.</summary>
    private protected virtual IEnumerable<string> GivenParameters => MyInvocation.BoundParameters.Keys;

    /// <summary>A setting as the user wrote it, for errors.</summary>
    private protected string NameOf(string setting) =>
        Settings.Contains(setting) && !Own.IsGiven(setting)
            ? $"{setting} of -{nameof(ConnectionOption)}"
            : $"-{setting}";

    /// <summary>Finds the given settings that do not apply to an endpoint. This is an error for a single
    /// endpoint, because the user relies on the setting. With several endpoints, a setting that applies to
    /// another one is ignored for this one.</summary>
    /// <param name="endpoint">The endpoint to connect to next.</param>
    /// <param name="all">All endpoints that the settings were given for.</param>
    /// <param name="isRaw">Whether the calls send raw bytes instead of messages.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = null;
        CheckGiven(endpoint, all, isRaw);
    }

    /// <summary>Checks the settings for an endpoint or a registered name. The settings of the name apply from
    /// then on.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        EndpointTarget target, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = target.Named;
        CheckGiven(target.Require(), all, isRaw);
    }

    private void CheckGiven(RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw)
    {
        RpcConnectionOption merged = Merge();
        HashSet<string> ignored = new(StringComparer.OrdinalIgnoreCase);
        foreach (string name in Given)
        {
            if (FindMisfit(merged, name, endpoint, isRaw) is not { } misfit)
            {
                continue;
            }

            if (all.All(other => FindMisfit(merged, name, other, isRaw) is not null))
            {
                throw misfit;
            }

            WriteVerbose($"{misfit.Message} The setting is ignored for this endpoint.");
            ignored.Add(name);
        }

        if (ignored.Contains(nameof(merged.Credential)))
        {
            ignored.Add(nameof(merged.UserName));
        }

        Option = merged.Without(ignored);
        if (AuthenticationOf(Option) <= RpcClientAuthentication.Anonymous)
        {
            EndpointParameters.CheckAnonymous(Given.Where(Option.IsGiven), endpoint, NameOf);
        }

        HeaderMapping.CheckSecrets(Option.Header, endpoint);
    }

    /// <summary>Checks the given settings for calls over an open connection.</summary>
    /// <exception cref="RpcException">InvalidArgument: a setting does not apply to it, or was decided when it
    /// was opened.</exception>
    private protected void CheckForConnection(RpcConnection connection)
    {
        if (ConnectionOption?.Given.FirstOrDefault(
            name => !OfCalls.Contains(name, StringComparer.OrdinalIgnoreCase)) is { } decided)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{NameOf(decided)} does not apply to an open connection. Give it to Connect-RpcEndpoint, or "
                + $"use -Endpoint. Calls over a connection support {string.Join(", ", OfCalls)}.",
                connection.Endpoint);
        }

        EndpointParameters.Check(
            Given, NameOf, new EndpointUse(connection.Endpoint, IsRaw: connection.InterfaceId is not null));
        HeaderMapping.CheckSecrets(CommandOption.Header, connection.Endpoint);
    }

    /// <summary>Refuses the setting that only a connection can keep.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void RefuseCallContext()
    {
        if (Option.CallContext is not null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{NameOf(nameof(Option.CallContext))} requires an open connection, which sends the "
                + "context with each call. Run Connect-RpcEndpoint, and call with -Connection.");
        }
    }

    private RpcConnectionOption Merge() =>
        Named is null ? CommandOption : RpcConnectionOption.From(Named).WithGiven(CommandOption);

    /// <summary>Whether a parameter was given.</summary>
    private protected virtual bool IsGiven(string parameter) =>
        MyInvocation.BoundParameters.ContainsKey(parameter);

    /// <summary>The schema that is registered with a name; null for none. The settings of the name apply from
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

    /// <summary>The options for connecting to the endpoint that was checked last.</summary>
    private protected virtual RpcClientOptions CreateOptions() => new()
    {
        Security = CreateSecurity(),
        UseTls = Option.Tls,
        Tls = CreateTls(Option),
        Headers = HeaderMapping.ToMetadata(Option.Header),
        Service = Option.Service,
        InterfaceId = Option.InterfaceId,
        Format = Option.IsGrpcWebText ? MessageFormats.Binary : MessageFormats.Named(Option.Format),
        Compression = Option.Compression,
        ReplyCompression = Option.ReplyCompression,
        HttpGet = Option.HttpGet,
        GrpcWebText = Option.IsGrpcWebText,
        KeepAlive = Option.KeepAlive,
        Retry = Option.Retry,
        Limits = Option.Limits,
        ExceptionTypes = Option.ExceptionType,
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
        HashSet<string> called = own.SelectMany(other => other.Servers).Select(server => server.Host)
            .ToHashSet(StringComparer.OrdinalIgnoreCase);
        if (!endpoint.Servers.All(server => called.Contains(server.Host)))
        {
            return new RpcClientOptions
            {
                Tls = new RpcTlsOptions { CaCertificates = CreateTls(Merge()).CaCertificates },
            };
        }

        CheckGiven(endpoint, [.. own, endpoint], isRaw: false);
        // Service and InterfaceId belong to the calls, not to the server that has the schema.
        return CreateOptions() with { Service = null, InterfaceId = null };
    }

    private RpcException? FindMisfit(
        RpcConnectionOption merged, string name, RpcEndpoint endpoint, bool isRaw)
    {
        EndpointUse use = new(endpoint, merged.Tls, isRaw);
        return EndpointParameters.FindMisfit(name, NameOf, use) ?? FindMisfit(merged, name, use);
    }

    // Misfits that depend on the value of a setting, or on other settings.
    private RpcException? FindMisfit(RpcConnectionOption merged, string name, EndpointUse use) =>
        name.ToUpperInvariant() switch
        {
            "FORMAT" => EndpointParameters.FindFormatMisfit(merged.Format, NameOf, use),
            "TLS" when merged.Tls => EndpointParameters.FindTlsMisfit(use.Endpoint),
            "CREDENTIAL" => EndpointParameters.FindCredentialMisfit(use.Endpoint, merged.Mechanism),
            "TOKEN" => EndpointParameters.FindTokenMisfit(use.Endpoint),
            "AUTHENTICATION" => merged.Authentication switch
            {
                RpcClientAuthentication.User =>
                    EndpointParameters.FindCredentialMisfit(use.Endpoint, merged.Mechanism),
                RpcClientAuthentication.Bearer => EndpointParameters.FindTokenMisfit(use.Endpoint),
                RpcClientAuthentication.Self when !use.Endpoint.Has(EndpointFeatures.OwnAccount) =>
                    ClientSecurityErrors.NoMechanisms(use.Endpoint),
                _ => null,
            },
            _ => null,
        };

    // A given credential or token is always used, or reported as an error; never ignored.
    private static RpcClientAuthentication AuthenticationOf(RpcConnectionOption option) =>
        option.IsGiven(nameof(option.Authentication)) ? option.Authentication
        : option.Credential is not null ? RpcClientAuthentication.User
        : option.Token is not null ? RpcClientAuthentication.Bearer
        : RpcClientAuthentication.None;

    private RpcClientSecurity CreateSecurity()
    {
        if (Option is { UserName: not null, Credential: null } && Given.Contains(nameof(Option.UserName)))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{NameOf(nameof(Option.UserName))} requires Credential, with the reference of its password. "
                + "Give both or neither.");
        }

        return new RpcClientSecurity
        {
            Authentication = AuthenticationOf(Option),
            Credential = _secrets.CredentialOf(Option),
            Token = _secrets.TokenOf(Option.Token),
            Mechanism = Option.Mechanism,
            ProtectionLevel = Option.ProtectionLevel,
            ServicePrincipalName = Option.ServicePrincipalName,
            ServerUser = Option.ServerUser,
        };
    }

    private RpcTlsOptions CreateTls(RpcConnectionOption option) => new()
    {
        CaCertificates = option.CACertificate.Length > 0
            ? Authorities(KeyOf(nameof(option.CACertificate)), option.CACertificate)
            : null,
        ClientCertificate = option.ClientCertificate is { } source
            ? OwnCertificate(KeyOf(nameof(option.ClientCertificate)), source)
            : null,
        ServerName = option.ServerName,
        SkipCertificateCheck = option.SkipCertificateCheck,
    };

    // A setting of the cmdlet is the same for all endpoints; otherwise it belongs to the registered name.
    private string KeyOf(string setting) => Given.Contains(setting) ? "" : Named?.Name ?? "";

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

/// <summary>The endpoint or the registered name that the text of an endpoint argument refers to.</summary>
/// <param name="Name">The registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null if the text is neither an endpoint nor a registered
/// name.</param>
/// <param name="Named">The registration of the name; null if the text is an endpoint.</param>
/// <param name="Error">The error if the text names no endpoint; otherwise null.</param>
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
            $"'{text}' matches {several.Count} endpoints: "
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

/// <summary>Reads the secrets that settings refer to, each once: environment variables, and secrets of
/// the module SecretManagement.</summary>
/// <remarks>Use it only on the pipeline thread.</remarks>
internal sealed class SecretReader
{
    private const string GetSecret = @"Microsoft.PowerShell.SecretManagement\Get-Secret";

    private readonly Dictionary<SecretReference, object> _read = [];

    /// <summary>The credential of settings; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public NetworkCredential? CredentialOf(RpcConnectionOption option)
    {
        if (option.Credential is not { } source)
        {
            return null;
        }

        object secret = source.Reference is { } reference ? Read(reference) : source.Credential!;
        if (secret is PSCredential credential)
        {
            return option.UserName is null
                ? credential.GetNetworkCredential()
                : new PSCredential(option.UserName, credential.Password).GetNetworkCredential();
        }

        SecureString password = secret switch
        {
            SecureString secure => secure,
            string text => new NetworkCredential("", text).SecurePassword,
            _ => throw WrongType(
                source.Reference!, secret, "a PSCredential, a SecureString or a string"),
        };
        return option.UserName is { } user
            ? new PSCredential(user, password).GetNetworkCredential()
            : throw source.Reference!.NotFound(
                "it is a password without a user name. Set UserName of -ConnectionOption, as in "
                + "-ConnectionOption @{ UserName = 'ann' }");
    }

    /// <summary>The bearer token of a source; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public string? TokenOf(RpcTokenSource? source)
    {
        if (source?.Reference is not { } reference)
        {
            return source?.Token is { } token ? new NetworkCredential("", token).Password : null;
        }

        return Read(reference) switch
        {
            string text => text,
            SecureString secret => new NetworkCredential("", secret).Password,
            PSCredential credential => credential.GetNetworkCredential().Password,
            object other => throw WrongType(reference, other, "a SecureString or a string"),
        };
    }

    private static RpcException WrongType(SecretReference reference, object secret, string wanted) =>
        reference.NotFound($"it is of the type {secret.GetType().Name}, not {wanted}");

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
