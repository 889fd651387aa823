using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

// Which endpoints are called without a connection, and how.
public sealed partial class InvokeRpcMethodCommand
{
    [Parameter(Mandatory = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(ParameterSetName = ByEndpoint)]
    public RpcReplyCompression ReplyCompression { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateRange(0, 100)]
    public int RetryCount { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByInput)]
    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public override IDictionary? Header
    {
        get => base.Header;
        set => base.Header = value;
    }

    // Headers go with the call, so that a connection is kept for calls with others.
    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with
    {
        Headers = new(),
        Lazy = true,
        ReplyCompression = Takes(nameof(ReplyCompression)) ? ReplyCompression : default,
        RetryCount = IsGiven(nameof(RetryCount)) ? RetryCount : Named?.RetryCount ?? RetryCount,
    };
}
