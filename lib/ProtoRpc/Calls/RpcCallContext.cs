using System.Security.Principal;
using ProtoRpc.Schema;
using ProtoRpc.Security;

namespace ProtoRpc.Calls;

/// <summary>What a handler may know of the call that it handles. Valid until the handler ends.</summary>
public sealed class RpcCallContext
{
    private readonly PeerIdentity _peer;
    private readonly CancellationToken _cancellation;
    private CancellationTokenSource? _withDeadline;

    internal RpcCallContext(
        RpcMethodInfo method, RpcEndpoint endpoint, PeerIdentity peer, DateTimeOffset? deadline, CancellationToken cancellation)
    {
        Method = method;
        Endpoint = endpoint;
        _peer = peer;
        Deadline = deadline;
        _cancellation = cancellation;
    }

    /// <summary>The method that is called.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>The listener's endpoint that the call came in on.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>How the call came in.</summary>
    public RpcTransport Transport => Endpoint.Transport;

    /// <summary>The caller; the anonymous identity, with an empty name, where nobody vouches for one.</summary>
    public IIdentity User => _peer.User;

    /// <summary>Whether somebody vouches for <see cref="User"/>.</summary>
    public bool IsAuthenticated => _peer.User.IsAuthenticated;

    /// <summary>Who vouches: <c>Kernel</c> for local peers, or empty.</summary>
    public string AuthenticationType => _peer.User.AuthenticationType ?? "";

    /// <summary>The remote address with port, or empty on local transports.</summary>
    public string ClientAddress => _peer.Address;

    /// <summary>The calling process where the kernel tells it, else 0.</summary>
    public int ProcessId => _peer.ProcessId;

    /// <summary>Whether the kernel vouches that the caller is on this machine.</summary>
    public bool IsLocal => _peer.IsLocal;

    /// <summary>When the caller stops waiting, where it said so.</summary>
    public DateTimeOffset? Deadline { get; }

    /// <summary>Cancelled when the caller cancels or vanishes, the deadline passes, or the listener stops.</summary>
    public CancellationToken CancellationToken => Deadline is { } deadline
        ? (_withDeadline ??= WithDeadline(deadline)).Token
        : _cancellation;

    /// <summary>The same but for the deadline, for a host that watches it by itself.</summary>
    internal CancellationToken Aborted => _cancellation;

    internal void End() => _withDeadline?.Dispose();

    // Made only for handlers that look: a timer for every call would cost more than an empty call.
    private CancellationTokenSource WithDeadline(DateTimeOffset deadline)
    {
        CancellationTokenSource source = CancellationTokenSource.CreateLinkedTokenSource(_cancellation);
        TimeSpan left = deadline - DateTimeOffset.UtcNow;
        if (left <= TimeSpan.Zero)
        {
            source.Cancel();
        }
        else if (left.TotalMilliseconds < int.MaxValue)
        {
            source.CancelAfter(left);
        }

        return source;
    }
}
