using System.Management.Automation;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

[Cmdlet(VerbsData.ConvertTo, "RpcRecord", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(PSObject))]
public sealed class ConvertToRpcRecordCommand : RpcConvertObjectCommand
{
    protected override void Process()
    {
        DynamicMessage message = ReadInput();
        PSObject record = new();
        foreach ((string name, object? value) in ShellMapper.Create(asHashtable: false).ToRecord(message))
        {
            if (record.Properties[name] is { } other)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"A record of {message.Type.FullName} cannot have the columns '{other.Name}' and "
                    + $"'{name}', which "
                    + "differ only in case. Use ConvertTo-RpcMessage -Format Json.")
                {
                    ErrorId = RpcErrorIds.AmbiguousColumn,
                };
            }

            record.Properties.Add(new PSNoteProperty(name, value));
        }

        WriteObject(record);
    }
}
