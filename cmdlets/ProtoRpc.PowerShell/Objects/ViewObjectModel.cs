using System.Management.Automation;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Reads objects to show them: nothing is made of what was deferred, and a property that fails is
/// absent.</summary>
internal sealed class ViewObjectModel : PSObjectModel
{
    private readonly bool _showsEndpoint;

    private ViewObjectModel(bool showsEndpoint) => _showsEndpoint = showsEndpoint;

    /// <summary>With the endpoint that a reply of several is from.</summary>
    public static new ViewObjectModel Instance { get; } = new(showsEndpoint: true);

    /// <summary>The message alone.</summary>
    public static ViewObjectModel OfMessage { get; } = new(showsEndpoint: false);

    protected override bool IsMember(PSPropertyInfo property) =>
        property is EndpointTag ? _showsEndpoint : !IsOfTypeData(property);

    protected override bool TryGetValue(PSPropertyInfo property, out object? value)
    {
        if (property is NestedProperty deferred)
        {
            value = deferred.Unmade;
            return true;
        }

        try
        {
            return base.TryGetValue(property, out value);
        }
        catch (RpcException)
        {
            value = null;
            return true;
        }
    }
}
