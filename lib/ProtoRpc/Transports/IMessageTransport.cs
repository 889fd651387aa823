using System.Reflection;

namespace ProtoRpc.Transports;

/// <summary>A way to carry whole requests and replies of the native protocol, where the operating system has
/// an RPC runtime and no byte stream.</summary>
/// <remarks>Requests and replies are the stubs of <see cref="Protocols.Dce.ExecStub"/>.
/// Statuses are those of <see cref="Protocols.Dce.WindowsStatus"/>.</remarks>
internal interface IMessageTransport : ITransport
{
    /// <summary>Serves an interface on an endpoint until the result is disposed; calls that run may go
    /// on.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="interfaceId">The interface, version 1.0.</param>
    /// <param name="maxRequest">Octets of the largest request.</param>
    /// <param name="handler">Gets the requests, on many threads in parallel.</param>
    /// <exception cref="RpcException">AlreadyExists, PermissionDenied,
    /// Unavailable, InvalidArgument.</exception>
    IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler);

    /// <summary>A connection to an interface, which is not reached yet.</summary>
    /// <exception cref="RpcException">InvalidArgument, Unavailable.</exception>
    IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId);
}

/// <summary>Answers a request before it returns.</summary>
internal delegate void IncomingMessageHandler(IIncomingMessage message);

/// <summary>A request that a server received; valid until the handler returns.</summary>
internal interface IIncomingMessage
{
    ReadOnlySpan<byte> Stub { get; }

    /// <summary>Its byte order.</summary>
    bool IsLittleEndian { get; }

    /// <summary>Asks the system who calls; only on the thread of the handler.</summary>
    PeerIdentity ReadPeer();

    /// <summary>Sets the stub of the reply.</summary>
    void Reply(ReadOnlySpan<byte> stub);
}

/// <summary>A client's connection to one interface. One thread at a time uses it.</summary>
internal interface IMessageConnection : IDisposable
{
    /// <summary>Blocks until the server replies.</summary>
    /// <returns>0, or the status of the system.</returns>
    uint Reach();

    /// <summary>Blocks until the call has a reply or has failed.</summary>
    /// <returns>0, or the status of the system.</returns>
    uint Call(IOutgoingMessage message);
}

/// <summary>A request of a client, which also receives its reply.</summary>
internal interface IOutgoingMessage
{
    /// <summary>Octets of the request's stub.</summary>
    int Length { get; }

    /// <summary>Copies the request into the buffer from which it is sent.</summary>
    /// <returns>False if the call was abandoned, and must not be sent.</returns>
    bool TryWrite(Span<byte> stub);

    /// <summary>Copies the stub of the reply.</summary>
    void Take(ReadOnlySpan<byte> stub, bool isLittleEndian);
}

/// <summary>The transports of whole messages by the kind of endpoint.</summary>
internal static class MessageTransports
{
    private static readonly Dictionary<RpcTransport, IMessageTransport> Registered =
        typeof(MessageTransports).Assembly.GetCustomAttributes<TransportAttribute>()
            .Select(attribute => (attribute.Transport, Carrier: attribute.Create() as IMessageTransport))
            .Where(registered => registered.Carrier is not null)
            .ToDictionary(registered => registered.Transport, registered => registered.Carrier!);

    /// <summary>The transport of an endpoint.</summary>
    /// <exception cref="RpcException">Unimplemented where this operating system does not have it.</exception>
    public static IMessageTransport Get(RpcEndpoint endpoint)
    {
        IMessageTransport transport = Registered[endpoint.Transport];
        return transport.IsOfThisSystem ? transport : throw EndpointErrors.NeedsWindows(endpoint);
    }

    /// <summary>The transport of an endpoint; null where the endpoint has byte streams.</summary>
    /// <exception cref="RpcException">Unimplemented where this operating system does not have it.</exception>
    public static IMessageTransport? Find(RpcEndpoint endpoint) =>
        endpoint.Has(EndpointFeatures.WholeMessages) ? Get(endpoint) : null;
}
