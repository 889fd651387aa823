namespace ProtoRpc.Schema;

/// <summary>A service.</summary>
public sealed class RpcServiceInfo
{
    /// <summary>The name without package.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The full name.</summary>
    public string FullName => throw new NotImplementedException();

    /// <summary>The schema that it is part of.</summary>
    public RpcSchema Schema => throw new NotImplementedException();

    /// <summary>The methods in declared order.</summary>
    public IReadOnlyList<RpcMethodInfo> Methods => throw new NotImplementedException();

    /// <summary>The interface id on the native protocol: the option
    /// <c>(google.protobuf.csharp_service_options).interface_id</c>, or the name-based UUID of the full name.</summary>
    public Guid InterfaceId => throw new NotImplementedException();

    /// <summary>The comment before the service, or empty.</summary>
    public string Comment => throw new NotImplementedException();

    /// <summary>A method by its bare name, exactly and then without regard to case; or null.</summary>
    public RpcMethodInfo? FindMethod(string name) => throw new NotImplementedException();
}
