using System.Net;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The server that an argument names.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Named">The registered endpoint; null for an address.</param>
internal sealed record ToolTarget(RpcEndpoint Endpoint, RpcNamedEndpoint? Named)
{
    /// <summary>Reads an endpoint or a registered name.</summary>
    /// <exception cref="RpcException">It is neither, or the file of names cannot be read.</exception>
    /// <exception cref="UsageException">It is a pattern that several names match.</exception>
    public static ToolTarget Find(string text, ToolConsole console)
    {
        if (RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint))
        {
            return new(endpoint, null);
        }

        RpcEndpointRegistry registry = console.Registry;
        IReadOnlyList<RpcNamedEndpoint> found =
            registry.Resolve(text, new Lazy<IReadOnlyList<RpcNamedEndpoint>>(registry.Read));
        return found is [{ } only]
            ? new(only.Endpoint, only)
            : throw new UsageException(
                $"'{text}' matches several registered endpoints: "
                + $"{string.Join(", ", found.Select(named => named.Name))}. Give the name of one.");
    }

    /// <summary>The schema that was registered with the name; null for none.</summary>
    /// <param name="console">Gets warnings; null for none, as while a word is completed.</param>
    public RpcSchema? LoadSchema(ToolConsole? console) => Named is { Schema: { Count: > 0 } sources }
        ? SchemaOptions.Load(sources, new RpcSchemaLoadOptions(), console)
        : null;

    /// <summary>The full name of a method: a bare name belongs to the registered service.</summary>
    public string FullNameOf(string method) =>
        Named?.Service is { } service && !method.Contains('/') ? $"{service}/{method}" : method;

    /// <summary>As whom the name is called.</summary>
    /// <param name="variable">Reads environment variables.</param>
    /// <exception cref="RpcException">FailedPrecondition: a secret cannot be read here.</exception>
    public RpcClientSecurity SecurityOf(Func<string, string?> variable)
    {
        if (Named is not { } named)
        {
            return RpcClientSecurity.Anonymous;
        }

        return new RpcClientSecurity
        {
            Authentication = named.Authentication
                ?? (named.Credential is not null ? RpcClientAuthentication.User
                    : named.Token is not null ? RpcClientAuthentication.Bearer
                    : RpcClientAuthentication.None),
            Credential = CredentialOf(variable),
            Token = named.Token is { } token ? Read(token, nameof(named.Token), variable) : null,
            Mechanism = named.Mechanism ?? RpcMechanism.Default,
            ProtectionLevel = named.ProtectionLevel ?? RpcProtectionLevel.Privacy,
            ServicePrincipalName = named.ServicePrincipalName,
            ServerUser = named.ServerUser,
        };
    }

    /// <summary>The user and the password that were registered with the name; null for none.</summary>
    /// <inheritdoc cref="SecurityOf"/>
    public NetworkCredential? CredentialOf(Func<string, string?> variable) =>
        Named is { Credential: { } password } named
            ? new(named.UserName, Read(password, nameof(named.Credential), variable))
            : null;

    private static string Read(string text, string what, Func<string, string?> variable)
    {
        SecretReference reference = SecretReference.Parse(text, what);
        return !reference.IsVariable
            ? throw reference.NotFound(
                "protorpc does not read secrets of SecretManagement. Give --user or --bearer, or register "
                + "the reference of an environment variable (env:NAME)")
            : variable(reference.Name) is { Length: > 0 } value
                ? value
                : throw reference.NotFound($"the environment variable '{reference.Name}' is not set");
    }
}
