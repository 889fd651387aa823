using System.Management.Automation;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

// The parameters for HTTP and gRPC endpoints.
public sealed partial class StartRpcListenerCommand
{
    [Parameter(ParameterSetName = ByHandler)]
    public SwitchParameter AllowUnencrypted { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompletions("https://app.example.com", "*")]
    public string[] AllowedOrigin { get; set; } = [];

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(AllowedHostCompleter))]
    public string[] AllowedHost { get; set; } = [];

    [Parameter(ParameterSetName = ByHandler)]
    public SwitchParameter AllowGet { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    public RpcReplyCompression ReplyCompression { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? BasicCheck { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? BearerCheck { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? CertificateCheck { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    public SwitchParameter NoReflection { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    public SwitchParameter NoHealth { get; set; }

    // Anonymous callers must be allowed explicitly, even if checks are given.
    private HttpEndpoints CreateHttp(HandlerPool pool) => new()
    {
        AllowUnencrypted = AllowUnencrypted,
        AllowedOrigins = AllowedOrigin,
        AllowedHosts = AllowedHost,
        AllowGet = AllowGet,
        ReplyCompression = ReplyCompression,
        EnableReflection = !NoReflection,
        EnableHealth = !NoHealth,
        Checks = new CheckScripts(BasicCheck, BearerCheck, CertificateCheck),
        AllowAnonymous = IsAuthenticationGiven && Authentication.HasFlag(RpcAuthentication.None),
        CheckFailed = pool.Streams.Add,
    };
}
