using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Refuses connections for a parameter of endpoints: the shell would take the endpoint's text for a
/// connection of the pipeline that stands beside parameters of connecting, and contact it anew.</summary>
internal sealed class NoConnectionAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        inputData is RpcConnection or PSObject { BaseObject: RpcConnection }
            ? throw new ArgumentTransformationMetadataException(
                "Connection parameters do not apply to an open connection. Give them to Connect-RpcEndpoint, "
                + "or use -Endpoint.")
            : inputData;
}
