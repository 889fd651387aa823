using System.Management.Automation;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Tags a reply with the endpoint that sent it. The tag is not a field, so the reply can be sent
/// again unchanged.</summary>
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
