namespace ProtoRpc.Server;

/// <summary>One way to serve methods on endpoints: the native protocol, HTTP, gRPC.</summary>
internal interface IServerFace
{
    /// <summary>Whether endpoints of a kind are served by this face.</summary>
    bool Serves(EndpointKindAttribute kind);

    /// <summary>Binds an endpoint and begins to serve.</summary>
    IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host);
}

/// <summary>An endpoint that is being served.</summary>
internal interface IServedEndpoint
{
    /// <summary>The endpoint as bound.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>Connections now open.</summary>
    int Connections { get; }

    /// <summary>Connections accepted.</summary>
    long Accepted { get; }

    /// <summary>Refuses new calls, lets running ones end within the time, then cancels and closes.</summary>
    Task StopAsync(TimeSpan drain);
}
