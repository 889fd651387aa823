using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Takes texts for a switch. Import-Csv returns <c>True</c> or <c>False</c> for a cell, an empty
/// text for an empty cell, and null for a cell that the row does not have.</summary>
internal sealed class SwitchCellAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) switch
        {
            null or "" => false,
            string text when bool.TryParse(text, out bool isOn) => isOn,
            // The shell would take each text as true.
            string text => throw new ArgumentTransformationMetadataException(
                $"'{text}' is neither True nor False."),
            _ => inputData,
        };
}
