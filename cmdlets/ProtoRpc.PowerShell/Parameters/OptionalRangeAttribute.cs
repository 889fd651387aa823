using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Accepts no value, or one in a range. ValidateRange rejects the null of a property without a
/// value.</summary>
/// <param name="least">The least value.</param>
/// <param name="most">The greatest value.</param>
internal sealed class OptionalRangeAttribute(int least, int most) : ValidateArgumentsAttribute
{
    protected override void Validate(object? arguments, EngineIntrinsics engineIntrinsics)
    {
        if (arguments is not null && (arguments is not int value || value < least || value > most))
        {
            throw new ValidationMetadataException($"'{arguments}' is not in {least}..{most}.");
        }
    }
}
