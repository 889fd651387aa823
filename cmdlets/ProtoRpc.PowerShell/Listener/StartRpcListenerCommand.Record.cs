using System.Management.Automation;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

// The parameters for recording calls in a file.
public sealed partial class StartRpcListenerCommand
{
    private CallRecord? _record;
    private RpcServiceInfo[] _services = [];

    // Also in the set of raw listeners, which refuse it with a reason. The shell's own error would not give
    // one.
    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
    [ValidateNotNullOrEmpty]
    public string? Record { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(FieldNameCompleter))]
    public string[] Mask { get; set; } = [];

    // Outermost, so that it also records calls that authorization and filters reject.
    private CallRecord[] CreateRecord() => Record is null ? [] : [_record = new CallRecord()];

    // Opened after the user has confirmed the start of the listener.
    private void OpenRecord(HandlerPool pool)
    {
        if (_record is null)
        {
            return;
        }

        RpcCallRecorder recorder = _record.Open(ResolveLiteral(Record!), new RpcCallRecorderOptions
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
