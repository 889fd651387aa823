using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Takes an empty text as no value. Import-Csv returns it for an empty cell, and null for a cell
/// that the row does not have.</summary>
internal sealed class EmptyCellAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is "" ? null : inputData;
}
