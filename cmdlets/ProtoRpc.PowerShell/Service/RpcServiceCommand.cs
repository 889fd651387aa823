using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Service;

namespace ProtoRpc;

/// <summary>What all commands of services have. Each command derives from it, with a property for each field
/// of the request.</summary>
/// <remarks>A class and not a function: the shell prepares all parameters of a function for each call, given
/// or not, which takes longer than the call.</remarks>
public abstract class RpcServiceCommand : PSCmdlet, IDisposable
{
    // The two ways to give a request. An object of the pipeline decides for the second one, so the shell
    // looks for no property of it, which would take longer than the call: the request reads the properties.
    // A hashtable, which has no properties for the shell, can thus have the fields that must be there.
    internal const string ByFields = "Fields";
    internal const string ByInput = nameof(InputObject);

    private ServiceCall? _call;

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByInput)]
    public object? InputObject { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[]? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan Deadline { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get; set; }

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    [ValidateRange(1, 10000)]
    public int ThrottleLimit { get; set; }

    [Parameter]
    public SwitchParameter AsJob { get; set; }

    /// <summary>Cancels what still runs.</summary>
    public void Dispose()
    {
        _call?.Dispose();
        GC.SuppressFinalize(this);
    }

    protected override void BeginProcessing()
    {
        try
        {
            _call = RpcServiceModule.Of(MyInvocation.MyCommand).Begin(this);
        }
        catch (RpcException e)
        {
            ThrowTerminatingError(RpcErrors.ToRecord(e, GetType().Name));
        }
    }

    protected override void ProcessRecord() => _call!.Process(InputObject);

    protected override void EndProcessing() => _call!.End();
}
