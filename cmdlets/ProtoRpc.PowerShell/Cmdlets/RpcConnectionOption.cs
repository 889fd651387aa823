using System.Reflection;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>How to connect to a server and call it: a registered endpoint without its name and address. Made
/// by New-RpcConnectionOption, or of a hashtable for <c>-ConnectionOption</c>.</summary>
/// <remarks>A setting that was not given is that of the registered name, and otherwise the default.</remarks>
public sealed class RpcConnectionOption : RpcOption
{
    // The settings of the caller's identity. A registered identity is replaced as a whole, so that one
    // identity's name is never combined with another's secret.
    private static readonly string[] Identity =
        [nameof(Authentication), nameof(Credential), nameof(Token), nameof(UserName)];

    /// <summary>How the caller is authenticated; None if the other settings determine it.</summary>
    [Parameter]
    public RpcClientAuthentication Authentication
    {
        get => Get(RpcClientAuthentication.None);
        set => Set(value);
    }

    /// <summary>The trusted CA certificates instead of those of the system.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] CACertificate { get => Get<RpcCertificateSource[]>([]); set => Set(value); }

    /// <summary>The call context that native calls send with each request. The server may change it in its
    /// reply.</summary>
    [Parameter]
    [ValidateNotNull]
    public IDictionary? CallContext { get => Get<IDictionary?>(null); set => Set(value); }

    /// <summary>The client's certificate.</summary>
    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public RpcCertificateSource? ClientCertificate
    {
        get => Get<RpcCertificateSource?>(null);
        set => Set(value);
    }

    /// <summary>How requests are compressed.</summary>
    [Parameter]
    public RpcCompression Compression { get => Get(RpcCompression.None); set => Set(value); }

    /// <summary>The user name and password, or a reference to them.</summary>
    [Parameter]
    [CredentialSource]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(SecretCompleter))]
    public RpcCredentialSource? Credential { get => Get<RpcCredentialSource?>(null); set => Set(value); }

    /// <summary>Which exceptions of handlers are thrown as such.</summary>
    [Parameter]
    public RpcExceptionTypes ExceptionType { get => Get(RpcExceptionTypes.CoreLibrary); set => Set(value); }

    /// <summary>The format of HTTP requests, or <c>GrpcWebText</c> for the text form of gRPC-Web.</summary>
    [Parameter]
    [ValidateSet(typeof(RequestFormatNames))]
    public string Format { get => Get(MessageFormats.Binary.Name); set => Set(value); }

    /// <summary>The headers of each call.</summary>
    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get => Get<IDictionary?>(null); set => Set(value); }

    /// <summary>Whether methods without side effects are called by GET over Connect.</summary>
    [Parameter]
    public SwitchParameter HttpGet { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>The interface id of the service; null for the service's own.</summary>
    [Parameter]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get => Get<Guid?>(null); set => Set(value); }

    /// <summary>How often an idle connection is checked; null for never.</summary>
    [Parameter]
    [Deadline]
    public TimeSpan? KeepAlive { get => Get<TimeSpan?>(null); set => Set(value); }

    /// <summary>The limits of the client.</summary>
    [Parameter]
    [ValidateNotNull]
    [LimitsTable]
    [ArgumentCompleter(typeof(LimitsCompleter))]
    public RpcLimits Limits { get => Get(RpcLimits.Default); set => Set(value); }

    /// <summary>How the user is authenticated.</summary>
    [Parameter]
    public RpcMechanism Mechanism { get => Get(RpcMechanism.Default); set => Set(value); }

    /// <summary>How calls are protected.</summary>
    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel ProtectionLevel { get => Get(RpcProtectionLevel.Privacy); set => Set(value); }

    /// <summary>Whether HTTP servers may compress replies.</summary>
    [Parameter]
    public RpcReplyCompression ReplyCompression
    {
        get => Get(default(RpcReplyCompression));
        set => Set(value);
    }

    /// <summary>Which failed calls to retry, how often, and after which pauses; null for no
    /// retries.</summary>
    [Parameter]
    [Alias("RetryCount")]
    [RetryTable]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(RetryCompleter))]
    public RpcRetryPolicy? Retry { get => Get<RpcRetryPolicy?>(null); set => Set(value); }

    /// <summary>The server name that the certificate must contain.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public string? ServerName { get => Get<string?>(null); set => Set(value); }

    /// <summary>The account that must run the server of a local endpoint.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? ServerUser { get => Get<string?>(null); set => Set(value); }

    /// <summary>The service for bare method names.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get => Get<string?>(null); set => Set(value); }

    /// <summary>The Kerberos service principal name of the service.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public string? ServicePrincipalName { get => Get<string?>(null); set => Set(value); }

    /// <summary>Whether any certificate of the server is accepted.</summary>
    [Parameter]
    public SwitchParameter SkipCertificateCheck { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>Whether to use TLS on an endpoint on TCP.</summary>
    [Parameter]
    public SwitchParameter Tls { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>The bearer token, or a reference to it.</summary>
    [Parameter]
    [TokenSource]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(SecretCompleter))]
    public RpcTokenSource? Token { get => Get<RpcTokenSource?>(null); set => Set(value); }

    /// <summary>The user name for a password that <see cref="Credential"/> refers to.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? UserName { get => Get<string?>(null); set => Set(value); }

    /// <summary>Whether to retry an unreachable server until the call's time is over.</summary>
    [Parameter]
    public SwitchParameter WaitForReady { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>Whether gRPC-Web uses its text form.</summary>
    internal bool IsGrpcWebText =>
        Format.Equals(RpcNamedEndpoint.GrpcWebText, StringComparison.OrdinalIgnoreCase);

    /// <summary>The settings that are registered with a name: its members have their names.</summary>
    internal static RpcConnectionOption From(RpcNamedEndpoint named)
    {
        RpcConnectionOption option = new();
        foreach (PropertyInfo setting in typeof(RpcConnectionOption).GetProperties(Settings))
        {
            object? value = typeof(RpcNamedEndpoint).GetProperty(setting.Name)?.GetValue(named);
            if (value is not (null or false or ICollection { Count: 0 }))
            {
                option.Set(LanguagePrimitives.ConvertTo(value, setting.PropertyType), setting.Name);
            }
        }

        return option;
    }

    /// <summary>These settings, those of a registered name, with the given ones in their place. A registered
    /// identity is replaced as a whole.</summary>
    internal RpcConnectionOption WithGiven(RpcConnectionOption given) =>
        (Identity.Any(given.IsGiven) ? Without(Identity) : this).With(given);

    /// <summary>These settings, those of -ConnectionOption, with the cmdlet's own parameters in their place.
    /// A credential or token of the parameters is the only one; the user name stays for the reference of a
    /// password.</summary>
    internal RpcConnectionOption WithOwn(RpcConnectionOption own) => (own.Credential, own.Token) switch
    {
        (null, null) => With(own),
        ({ Reference: not null }, _) => Without([nameof(Credential), nameof(Token)]).With(own),
        _ => Without([nameof(Credential), nameof(Token), nameof(UserName)]).With(own),
    };

    /// <summary>These settings, with those of another object in their place; headers are joined.</summary>
    internal RpcConnectionOption With(RpcConnectionOption above)
    {
        RpcConnectionOption merged = new();
        merged.CopyFrom(this);
        merged.CopyFrom(above);
        if (Header is { } lower && above.Header is { } upper)
        {
            merged.Header = Join(lower, upper);
        }

        return merged;
    }

    /// <summary>These settings without some of them.</summary>
    internal RpcConnectionOption Without(IEnumerable<string> names)
    {
        RpcConnectionOption rest = new();
        rest.CopyFrom(this);
        rest.Remove(names);
        return rest;
    }

    private static Hashtable Join(IDictionary lower, IDictionary upper)
    {
        Hashtable joined = new(StringComparer.OrdinalIgnoreCase);
        foreach (IDictionary headers in new[] { lower, upper })
        {
            foreach (DictionaryEntry entry in headers)
            {
                joined[entry.Key] = entry.Value;
            }
        }

        return joined;
    }
}

[Cmdlet(VerbsCommon.New, "RpcConnectionOption")]
[OutputType(typeof(RpcConnectionOption))]
public sealed class NewRpcConnectionOptionCommand : RpcCmdlet, IDynamicParameters
{
    private readonly RpcConnectionOption _option = new();

    /// <summary>The object itself, whose properties are the parameters.</summary>
    public object GetDynamicParameters() => _option;

    protected override void End() => WriteObject(_option);
}

/// <summary>Takes a hashtable for an <see cref="RpcConnectionOption"/>.</summary>
internal sealed class ConnectionOptionTableAttribute() : OptionTableAttribute(
    "New-RpcConnectionOption", typeof(NewRpcConnectionOptionCommand), typeof(RpcConnectionOption));
