using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Leaves out the blank lines of a list, such as those of a file with endpoints. A single text stays
/// as it is, so that an empty variable is rejected.</summary>
internal sealed class FilledLinesAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        Unwrap(inputData) is IList { Count: > 1 } list && list.Cast<object?>().Any(IsBlank)
            ? list.Cast<object?>().Where(item => !IsBlank(item)).ToArray()
            : inputData;

    private static bool IsBlank(object? item) =>
        Unwrap(item) is string text && string.IsNullOrWhiteSpace(text);

    private static object? Unwrap(object? value) => value is PSObject wrapper ? wrapper.BaseObject : value;
}
