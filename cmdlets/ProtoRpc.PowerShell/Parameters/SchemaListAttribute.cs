using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Takes a list of paths and addresses as one <see cref="RpcSchemaSource"/>.</summary>
/// <remarks>The shell converts no list for a parameter that is not a list itself.</remarks>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class SchemaListAttribute : ArgumentTransformationAttribute
{
    /// <inheritdoc/>
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is IList list
            ? new RpcSchemaSource([.. list.Cast<object>()])
            : inputData;
}
