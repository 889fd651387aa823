using Google.Protobuf;
using ProtoRpc.Schema;

namespace ProtoRpc.Calls;

/// <summary>Serves services on endpoints of any kind.</summary>
/// <example><code>
/// using RpcServer server = RpcServer.Create(schema, "Sample.MyService")
///     .Handle("Send", (context, request) => ...)
///     .AddEndpoint("ncacn_ip_tcp:127.0.0.1[8080]")
///     .StartListening();
/// </code></example>
public sealed class RpcServer : IAsyncDisposable, IDisposable
{
    /// <summary>The services with their interface ids.</summary>
    public IReadOnlyList<KeyValuePair<RpcServiceInfo, Guid>> Services => throw new NotImplementedException();

    /// <summary>The endpoints, as bound once the server listens.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints => throw new NotImplementedException();

    /// <summary>Whether it listens.</summary>
    public bool IsListening => throw new NotImplementedException();

    /// <summary>What it has done.</summary>
    public RpcServerCounters Counters => throw new NotImplementedException();

    /// <summary>Ends when the server has stopped.</summary>
    public Task Completion => throw new NotImplementedException();

    /// <summary>A server for one service; null for the schema's only one.</summary>
    public static RpcServer Create(RpcSchema schema, string? service = null, RpcServerOptions? options = null) =>
        throw new NotImplementedException();

    /// <summary>Serves one more service.</summary>
    /// <param name="service">The service.</param>
    /// <param name="interfaceId">Its id on native endpoints; null for the service's own.</param>
    public RpcServer AddService(RpcServiceInfo service, Guid? interfaceId = null) => throw new NotImplementedException();

    /// <summary>Handles a method dynamically. The name is bare where one service has it, else full.</summary>
    public RpcServer Handle(string method, RpcHandler handler) => throw new NotImplementedException();

    /// <summary>Handles every method that has no handler of its own.</summary>
    public RpcServer HandleAll(RpcHandler handler) => throw new NotImplementedException();

    /// <summary>Handles a method with generated message types.</summary>
    public RpcServer Handle<TRequest, TReply>(string method, Func<RpcCallContext, TRequest, TReply> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply> => throw new NotImplementedException();

    /// <summary>Adds an endpoint, before the server listens.</summary>
    public RpcServer AddEndpoint(string endpoint) => AddEndpoint(RpcEndpoint.Parse(endpoint));

    /// <summary>Adds an endpoint, before the server listens.</summary>
    public RpcServer AddEndpoint(RpcEndpoint endpoint) => throw new NotImplementedException();

    /// <summary>Binds every endpoint and begins to serve; binds all or none.</summary>
    public RpcServer StartListening() => throw new NotImplementedException();

    /// <summary>Refuses new calls, lets running ones end within the drain time, cancels the rest, closes.</summary>
    /// <param name="drain">Null for the limit's drain time.</param>
    public Task StopAsync(TimeSpan? drain = null) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void Dispose() => throw new NotImplementedException();

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => throw new NotImplementedException();
}
