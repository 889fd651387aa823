using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Accepts no value, or a level that protects calls. ValidateSet rejects the null of a property
/// without a value.</summary>
internal sealed class OptionalLevelAttribute : ValidateArgumentsAttribute
{
    protected override void Validate(object? arguments, EngineIntrinsics engineIntrinsics)
    {
        if (arguments is not (null or RpcProtectionLevel.Connect or RpcProtectionLevel.Packet
            or RpcProtectionLevel.Integrity or RpcProtectionLevel.Privacy))
        {
            throw new ValidationMetadataException(
                $"'{arguments}' is not a level. Use Connect, Packet, Integrity or Privacy.");
        }
    }
}
