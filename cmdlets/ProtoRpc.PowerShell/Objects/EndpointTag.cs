using System.Management.Automation;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Tells of a reply which endpoint gave it.
/// It is no field, so a reply can be sent on as it is.</summary>
internal sealed class EndpointTag(string endpoint) : PSNoteProperty(PropertyName, endpoint)
{
    public const string PropertyName = "PSRpcEndpoint";

    public EndpointTag(RpcEndpoint endpoint)
        : this(endpoint.ToString())
    {
    }

    /// <inheritdoc/>
    public override PSMemberInfo Copy() => new EndpointTag((string)Value);
}
