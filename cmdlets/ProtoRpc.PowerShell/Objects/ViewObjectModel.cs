using System.Management.Automation;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Reads objects to show them. Deferred values are not converted, and a property that throws is left
/// out.</summary>
internal sealed class ViewObjectModel : PSObjectModel
{
    private readonly bool _showsEndpoint;

    private ViewObjectModel(bool showsEndpoint) => _showsEndpoint = showsEndpoint;

    /// <summary>Includes the endpoint of a reply, if there are several.</summary>
    public static new ViewObjectModel Instance { get; } = new(showsEndpoint: true);

    /// <summary>Reads only the message.</summary>
    public static ViewObjectModel OfMessage { get; } = new(showsEndpoint: false);

    protected override bool IsMember(PSPropertyInfo property) =>
        IsEndpoint(property) ? _showsEndpoint : !IsOfTypeData(property);

    protected internal override bool TryGetValue(PSPropertyInfo property, out object? value)
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
