using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

// The record of calls in a file.
public sealed partial class StartRpcListenerCommand
{
    private CallRecord? _record;
    private RpcServiceInfo[] _services = [];

    // A raw listener refuses it with a reason, which the shell itself would not give.
    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
    [ValidateNotNullOrEmpty]
    public string? Record { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(FieldNameCompleter))]
    public string[] Mask { get; set; } = [];

    // Outermost, so that it also sees the calls that authorization and filters refuse.
    private CallRecord[] CreateRecord() => Record is null ? [] : [_record = new CallRecord()];

    // Not before the user has agreed to start the listener.
    private void OpenRecord(HandlerPool pool)
    {
        if (_record is null)
        {
            return;
        }

        string path = SessionState.Path.GetUnresolvedProviderPathFromPSPath(
            Record, out ProviderInfo provider, out _);
        if (provider.Name != "FileSystem")
        {
            throw RpcErrors.NotAFile(Record!, $"it is on the provider {provider.Name}");
        }

        RpcCallRecorder recorder = _record.Open(path, new RpcCallRecorderOptions
        {
            Mask = Mask,
            Warning = text => pool.Streams.Add(new WarningRecord(text)),
        });
        foreach (string mask in recorder.FindUnknownMasks(_services))
        {
            WriteWarning(
                $"-Mask '{mask}' matches no field of the services' messages. It only masks keys of "
                + "maps and Struct.");
        }
    }
}
