using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.Calls;

/// <summary>Calls services at one endpoint. Safe for use by many threads.</summary>
public sealed class RpcClient : IDisposable
{
    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint => throw new NotImplementedException();

    /// <summary>The schema that names are looked up in; null for typed use only.</summary>
    public RpcSchema? Schema => throw new NotImplementedException();

    /// <summary>The service of bare method names, where there is one.</summary>
    public RpcServiceInfo? Service => throw new NotImplementedException();

    /// <summary>False after it was disposed.</summary>
    public bool IsOpen => throw new NotImplementedException();

    /// <summary>Calls that ended.</summary>
    public long CallCount => throw new NotImplementedException();

    /// <summary>Connects, and binds where the service is known.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Unimplemented; InvalidArgument for the endpoint.</exception>
    public static RpcClient Connect(
        RpcEndpoint endpoint, RpcSchema? schema = null, RpcClientOptions? options = null, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    public static RpcClient Connect(string endpoint, RpcSchema? schema = null, RpcClientOptions? options = null) =>
        Connect(RpcEndpoint.Parse(endpoint), schema, options);

    /// <summary>A method by bare or full name.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names.</exception>
    public RpcMethodInfo GetMethod(string name) => throw new NotImplementedException();

    /// <summary>Calls a method and blocks for the reply.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">Its request, dynamic or generated.</param>
    /// <param name="timeout">Null for the limit's call timeout; InfiniteTimeSpan for none.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public DynamicMessage Invoke(
        RpcMethodInfo method, IMessage request, TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <summary>The same without holding a thread.</summary>
    public Task<DynamicMessage> InvokeAsync(
        RpcMethodInfo method, IMessage request, TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <summary>Calls a method with generated message types; the method is named by the bare or full name.</summary>
    public TReply Invoke<TReply>(
        string method, IMessage request, TimeSpan? timeout = null, CancellationToken cancellation = default)
        where TReply : class, IMessage<TReply>, new() => throw new NotImplementedException();

    /// <summary>Pings the server.</summary>
    public RpcPingResult Ping(TimeSpan? timeout = null, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <inheritdoc/>
    public void Dispose() => throw new NotImplementedException();
}
