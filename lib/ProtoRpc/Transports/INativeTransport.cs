using System.Net;
using System.Net.Sockets;
using System.Reflection;
using ProtoRpc.Security;

namespace ProtoRpc.Transports;

/// <summary>A way to carry the native protocol.
/// One file for each, with a <see cref="TransportAttribute"/> at its head.</summary>
internal interface INativeTransport : ITransport
{
    /// <summary>Binds an endpoint.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="allowed">The accounts that may connect in addition to the listener's own; null for none.
    /// The transport may admit more accounts: callers must check each connection with <see
    /// cref="AllowedAccounts.Admit"/>.</param>
    /// <exception cref="RpcException">AlreadyExists, PermissionDenied,
    /// Unavailable, InvalidArgument.</exception>
    TransportListener Listen(RpcEndpoint endpoint, AllowedAccounts? allowed = null);

    /// <summary>Connects with blocking calls.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="serverUser">The account that runs the server; null for the own one and root.</param>
    /// <param name="timeout">How long connecting may take.</param>
    /// <param name="cancellation">Ends connecting.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, PermissionDenied.</exception>
    TransportConnection Connect(
        RpcEndpoint endpoint, string? serverUser, TimeSpan timeout, CancellationToken cancellation);
}

/// <summary>A bound endpoint that accepts connections.</summary>
internal abstract class TransportListener : IDisposable
{
    /// <summary>The bound endpoint.</summary>
    public abstract RpcEndpoint Endpoint { get; }

    /// <summary>The endpoint as bind_ack names it.</summary>
    public abstract string SecondaryAddress { get; }

    /// <summary>Called for each connection that was closed, or not accepted, because the process has too few
    /// free file handles; null for nothing.</summary>
    public Action? HandleMissing { get; set; }

    /// <summary>Waits for the next connection.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed.</exception>
    public abstract ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation);

    /// <summary>Closes the endpoint; accepted connections live on.</summary>
    public abstract void Dispose();
}

/// <summary>A connected byte stream. One thread sends and receives at a time, but <see cref="Abort"/> and
/// <see cref="Peek"/> can be called on another.</summary>
/// <remarks>A connection is used either with the blocking members or with the asynchronous ones, never with
/// both: a socket that was once used asynchronously is slow for blocking calls ever after.</remarks>
internal abstract class TransportConnection : IDisposable
{
    /// <summary>Where the peer is; null where the transport has no addresses,
    /// or when it left already.</summary>
    public virtual EndPoint? RemoteEndPoint => null;

    /// <summary>Blocks for bytes.</summary>
    /// <returns>0 when the peer closed.</returns>
    public abstract int Receive(Memory<byte> buffer);

    /// <summary>Blocks until all bytes are sent.</summary>
    public abstract void Send(ReadOnlyMemory<byte> bytes);

    /// <summary>Waits for bytes.</summary>
    /// <returns>0 when the peer closed.</returns>
    public abstract ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation);

    /// <summary>Sends all bytes.</summary>
    public abstract ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation);

    /// <summary>Peeks at received bytes without blocking; not during a receive.</summary>
    /// <returns>The number of copied octets; 0 if the peer closed or the connection broke; -1 if no data has
    /// arrived.</returns>
    public abstract int Peek(Span<byte> buffer);

    /// <summary>Sends a few bytes if that is possible without blocking; failures are ignored.</summary>
    public abstract void TrySendNow(ReadOnlySpan<byte> bytes);

    /// <summary>Ends sending; receiving continues.</summary>
    public abstract void FinishSending();

    /// <summary>Lets the one who receives get 0, now and from now on; later sends work. Not during a
    /// send.</summary>
    public abstract void StopReceiving();

    /// <summary>Ends the connection; running receives and sends return 0 or throw.</summary>
    public abstract void Abort();

    /// <summary>Asks the system who the peer is.</summary>
    public abstract PeerIdentity ReadPeer();

    /// <summary>Requires that the account that runs the server may get tokens and passwords.</summary>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="user">The account that the client names; null for none.</param>
    /// <exception cref="RpcException">PermissionDenied: another account runs the server.</exception>
    public virtual void RequireServer(RpcEndpoint endpoint, string? user)
    {
    }

    public abstract void Dispose();

    /// <summary>Whether an exception of the members above means no more than a broken connection.</summary>
    public static bool IsBroken(Exception exception) =>
        exception is SocketException or IOException or ObjectDisposedException or OperationCanceledException
            or InvalidOperationException;
}

/// <summary>The transports of the native protocol by the kind of endpoint.</summary>
internal static class NativeTransports
{
    private static readonly Dictionary<RpcTransport, INativeTransport> Registered = typeof(NativeTransports)
        .Assembly.GetCustomAttributes<TransportAttribute>()
        .Select(attribute => (attribute.Transport, Carrier: attribute.Create() as INativeTransport))
        .Where(registered => registered.Carrier is { IsOfThisSystem: true })
        .ToDictionary(registered => registered.Transport, registered => registered.Carrier!);

    /// <summary>The transport of an endpoint.</summary>
    /// <exception cref="RpcException">InvalidArgument: it is not a native endpoint.</exception>
    public static INativeTransport Get(RpcEndpoint endpoint) =>
        Registered.TryGetValue(endpoint.Transport, out INativeTransport? transport)
            ? transport
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.NotNativeEndpoint,
                $"'{endpoint}' is not an endpoint of the native protocol. Use ncacn_ip_tcp, ncacn_np "
                + "or ncalrpc.", endpoint);
}

/// <summary>The transport of a kind of endpoint.</summary>
internal interface ITransport
{
    /// <summary>Whether this operating system has it.</summary>
    bool IsOfThisSystem => true;
}

/// <summary>An attribute on each transport, by which <see cref="NativeTransports"/> or <see
/// cref="MessageTransports"/> finds it. So a new transport only needs its own file.</summary>
/// <param name="transport">The kind of endpoint that it carries.</param>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class TransportAttribute(RpcTransport transport) : Attribute
{
    public RpcTransport Transport => transport;

    public abstract ITransport Create();
}

/// <inheritdoc/>
/// <typeparam name="TTransport">The transport.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class TransportAttribute<TTransport>(RpcTransport transport) : TransportAttribute(transport)
    where TTransport : ITransport, new()
{
    public override ITransport Create() => new TTransport();
}
