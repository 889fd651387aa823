using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

/// <summary>The base of cmdlets that show the records that handlers wrote to their streams.</summary>
public abstract class RpcStreamsCommand : RpcListenerCommand
{
    // The tag of Write-Host's records. PowerShell shows records with this tag for every
    // $InformationPreference.
    private const string HostTag = "PSHOST";

    /// <summary>Writes a record to the stream that it came from.</summary>
    protected void WriteRecord(object record)
    {
        switch (record)
        {
            case ErrorRecord error:
                WriteError(error);
                break;
            case WarningRecord warning:
                WriteWarning(warning.Message);
                break;
            case VerboseRecord verbose:
                WriteVerbose(verbose.Message);
                break;
            case DebugRecord debug:
                WriteDebug(debug.Message);
                break;
            case InformationRecord information:
                WriteInformation(Shown(information));
                break;
        }
    }

    // A user who receives records expects to see them, so information records are shown unless
    // -InformationAction says otherwise.
    private InformationRecord Shown(InformationRecord record)
    {
        if (record.Tags.Contains(HostTag) || MyInvocation.BoundParameters.ContainsKey("InformationAction"))
        {
            return record;
        }

        InformationRecord shown = NeutralRecord.Copy(record, record.MessageData);
        shown.Tags.Add(HostTag);
        return shown;
    }
}
