using System.Management.Automation;
using System.Security;
using ProtoRpc.Endpoints;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Accepts a reference to a secret. Rejects the secret itself, because it would be written to a
/// file.</summary>
internal sealed class SecretReferenceAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is PSCredential or SecureString
            ? throw new ArgumentTransformationMetadataException(
                "A secret is never written to the file of named endpoints. Store it with Set-Secret or in an "
                + $"environment variable, and give its reference: {SecretReference.Forms}.")
            : inputData;
}
