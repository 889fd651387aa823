namespace ProtoRpc.Server;

/// <summary>What a call calls, as logs, activities and measurements name it.</summary>
/// <param name="System">The RPC system: <c>grpc</c>, <c>dcerpc</c> of the raw layer, or
/// <c>protorpc</c>.</param>
/// <param name="Method"><c>package.Service/Method</c>, or the id of an interface.</param>
/// <param name="Endpoint">The listener's endpoint.</param>
internal readonly record struct CallTarget(string System, string Method, RpcEndpoint Endpoint)
{
    /// <summary>The method of a call whose method could not be read, or does not exist.</summary>
    public const string UnknownMethod = "_OTHER";
}
