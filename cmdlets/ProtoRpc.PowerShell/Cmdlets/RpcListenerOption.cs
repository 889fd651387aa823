using System.Security;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>The settings of a listener that few listeners need. Made by New-RpcListenerOption, or of a
/// hashtable for <c>-ListenerOption</c>.</summary>
public sealed class RpcListenerOption : RpcOption
{
    private const int MaxDefaultWorkers = 8;

    /// <summary>The groups whose members may connect to local endpoints.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public string[] AllowedGroup { get => Get<string[]>([]); set => Set(value); }

    /// <summary>The names of this listener that callers may write in the Host header.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(AllowedHostCompleter))]
    public string[] AllowedHost { get => Get<string[]>([]); set => Set(value); }

    /// <summary>The web pages whose scripts may call.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompletions("https://app.example.com", "*")]
    public string[] AllowedOrigin { get => Get<string[]>([]); set => Set(value); }

    /// <summary>The users that may connect to local endpoints, in addition to the own account.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public string[] AllowedUser { get => Get<string[]>([]); set => Set(value); }

    /// <summary>Whether methods without side effects can be called with GET.</summary>
    [Parameter]
    public SwitchParameter AllowGet { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>The headers that a gateway does not forward.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HeaderNameCompleter))]
    public string[] BlockHeader { get => Get<string[]>([]); set => Set(value); }

    /// <summary>The password of the file of the listener's certificate.</summary>
    [Parameter]
    [Password]
    [ValidateNotNull]
    public SecureString? CertificatePassword { get => Get<SecureString?>(null); set => Set(value); }

    /// <summary>The certificate authorities whose client certificates HTTP and gRPC endpoints
    /// accept.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] ClientCACertificate
    {
        get => Get<RpcCertificateSource[]>([]);
        set => Set(value);
    }

    /// <summary>How much of a failure callers get to see.</summary>
    [Parameter]
    public RpcErrorDetail? ErrorDetail { get => Get<RpcErrorDetail?>(null); set => Set(value); }

    /// <summary>The headers that a gateway forwards in addition to the usual ones.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HeaderNameCompleter))]
    public string[] ForwardHeader { get => Get<string[]>([]); set => Set(value); }

    /// <summary>Whether script blocks run as the caller.</summary>
    [Parameter]
    public SwitchParameter Impersonate { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>Runs once in each worker, before its first call.</summary>
    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? InitializationScript { get => Get<ScriptBlock?>(null); set => Set(value); }

    /// <summary>The calls that a raw listener serves at the same time.</summary>
    [Parameter]
    [ValidateRange(ValidateRangeKind.Positive)]
    public int MaxCalls { get => Get(new RpcRawServerOptions().MaxCalls); set => Set(value); }

    /// <summary>The largest request of a raw listener, in bytes; null for the limit of messages.</summary>
    [Parameter]
    [ValidateRange(ValidateRangeKind.Positive)]
    public int? MaxRequestBytes { get => Get<int?>(null); set => Set(value); }

    /// <summary>The modules that each worker imports, by name or path.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ModuleCompleter))]
    public string[] Module { get => Get<string[]>([]); set => Set(value); }

    /// <summary>Whether HTTP and gRPC endpoints serve no health checks.</summary>
    [Parameter]
    public SwitchParameter NoHealth { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>Whether HTTP and gRPC endpoints do not publish the schema.</summary>
    [Parameter]
    public SwitchParameter NoReflection { get => Get(default(SwitchParameter)); set => Set(value); }

    /// <summary>The accounts that may authenticate with NTLM.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    public NtlmAccountSource[] NtlmAccount { get => Get<NtlmAccountSource[]>([]); set => Set(value); }

    /// <summary>The least protection of authenticated native calls.</summary>
    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel ProtectionLevel
    {
        get => Get(RpcProtectionLevel.Integrity);
        set => Set(value);
    }

    /// <summary>Whether HTTP endpoints compress replies.</summary>
    [Parameter]
    public RpcReplyCompression ReplyCompression
    {
        get => Get(default(RpcReplyCompression));
        set => Set(value);
    }

    /// <summary>The Kerberos service principal name of the service.</summary>
    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public string? ServicePrincipalName { get => Get<string?>(null); set => Set(value); }

    /// <summary>The number of script blocks that run at the same time.</summary>
    [Parameter]
    [ValidateRange(1, 1024)]
    public int WorkerCount
    {
        get => Get(Math.Min(MaxDefaultWorkers, 2 * Environment.ProcessorCount));
        set => Set(value);
    }
}

[Cmdlet(VerbsCommon.New, "RpcListenerOption")]
[OutputType(typeof(RpcListenerOption))]
public sealed class NewRpcListenerOptionCommand : RpcCmdlet, IDynamicParameters
{
    private readonly RpcListenerOption _option = new();

    /// <summary>The object itself, whose properties are the parameters.</summary>
    public object GetDynamicParameters() => _option;

    protected override void End() => WriteObject(_option);
}

/// <summary>Takes a hashtable for an <see cref="RpcListenerOption"/>.</summary>
internal sealed class ListenerOptionTableAttribute() : OptionTableAttribute(
    "New-RpcListenerOption", typeof(NewRpcListenerOptionCommand), typeof(RpcListenerOption));

/// <summary>Offers the settings of a listener in a hashtable, if the cmdlet supports them.</summary>
internal sealed class ListenerOptionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => [OptionShape.Empty];

    internal override HashtableShape? TableOf(IDictionary bound) =>
        new OptionShape(typeof(RpcListenerOption), bound, ListenerSettings.SupportedBy(Command));
}

/// <summary>Offers host names that clients can use to call a listener.</summary>
internal sealed class AllowedHostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new Candidate(Environment.MachineName.ToLowerInvariant(), "This machine"),
        new Candidate("*", "Every name"),
    ];
}

/// <summary>Offers the modules of the session. For a path, the shell offers files.</summary>
internal sealed class ModuleCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        return
        [
            .. shell.AddCommand(@"Microsoft.PowerShell.Core\Get-Module").Invoke<PSModuleInfo>()
                .Select(module => new Candidate(module.Name, $"{module.Name} {module.Version}")),
        ];
    }
}
