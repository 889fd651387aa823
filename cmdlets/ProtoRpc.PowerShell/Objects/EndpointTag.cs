using System.Management.Automation;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Marks a reply with the endpoint that sent it.
/// The mark is not a field, so a reply can be sent again unchanged.</summary>
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
