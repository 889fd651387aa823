using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Accepts no value, or the name of a message format of HTTP endpoints. ValidateSet rejects the null
/// or empty text of a property without a value.</summary>
internal sealed class OptionalFormatAttribute : ValidateArgumentsAttribute
{
    protected override void Validate(object? arguments, EngineIntrinsics engineIntrinsics)
    {
        string[] known = new HttpFormatNames().GetValidValues();
        if (arguments is not (null or "")
            && !known.Contains(arguments as string, StringComparer.OrdinalIgnoreCase))
        {
            throw new ValidationMetadataException(
                $"'{arguments}' is not a format. Use {string.Join(", ", known)}.");
        }
    }
}
