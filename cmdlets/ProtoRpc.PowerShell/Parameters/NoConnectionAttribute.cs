using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Rejects connections for an endpoint parameter. If a connection comes from the pipeline together
/// with connection parameters, the shell would otherwise convert it to its endpoint's text, and connect
/// again.</summary>
internal sealed class NoConnectionAttribute : ArgumentTransformationAttribute
{
    public override object Transform(EngineIntrinsics engineIntrinsics, object inputData) =>
        inputData is RpcConnection or PSObject { BaseObject: RpcConnection }
            ? throw new ArgumentTransformationMetadataException(
                "Connection parameters do not apply to an open connection. Give them to Connect-RpcEndpoint, "
                + "or use -Endpoint.")
            : inputData;
}
