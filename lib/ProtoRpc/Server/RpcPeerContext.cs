using System.Security.Principal;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>The caller's context of a call. Valid until the handler ends.</summary>
public abstract class RpcPeerContext
{
    private readonly PeerIdentity _peer;

    private protected RpcPeerContext(RpcEndpoint endpoint, PeerIdentity peer)
    {
        Endpoint = endpoint;
        _peer = peer;
    }

    /// <summary>The listener's endpoint that received the call.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The transport of the call.</summary>
    public RpcTransport Transport => Endpoint.Transport;

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _peer.User;

    /// <summary>Whether <see cref="User"/> is authenticated.</summary>
    public bool IsAuthenticated => _peer.User.IsAuthenticated;

    /// <summary>The authentication type: <c>Kernel</c> for local peers, <c>NTLM</c> or <c>Kerberos</c>; empty
    /// for an anonymous caller.</summary>
    public string AuthenticationType => _peer.User.AuthenticationType ?? "";

    /// <summary>The protection of the call's data on the network.</summary>
    public RpcProtectionLevel ProtectionLevel => _peer.ProtectionLevel;

    /// <summary>The remote address and port; empty on local transports.</summary>
    public string ClientAddress => _peer.Address;

    /// <summary>The id of the calling process; 0 if the kernel does not report it.</summary>
    public int ProcessId => _peer.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _peer.IsLocal;

    /// <summary>When the caller stops waiting; null if the caller sent no deadline.</summary>
    public virtual DateTimeOffset? Deadline => null;

    /// <summary>Cancelled when the caller cancels or disconnects, when the deadline passes, or when the
    /// listener stops.</summary>
    public abstract CancellationToken CancellationToken { get; }

    /// <summary>The deadline and the cancellation of the call.</summary>
    internal abstract HandlerClock Clock { get; }

    /// <summary>The client that a waiting call counts for, because clients take turns. Compared by <see
    /// cref="object.Equals(object)"/>.</summary>
    internal virtual object Client => IsLocal && ProcessId != 0
        ? ProcessId
        : ClientAddress[..Math.Max(0, ClientAddress.LastIndexOf(':'))];

    /// <summary>The called method or interface, for error messages.</summary>
    internal abstract string What { get; }

    /// <summary>Runs an action under the caller's identity.</summary>
    /// <exception cref="RpcException">Unauthenticated: the caller is anonymous. Unimplemented: the system
    /// does not support impersonation, or there is no token of the caller.</exception>
    public void Impersonate(Action action)
    {
        ArgumentNullException.ThrowIfNull(action);
        if (!IsAuthenticated)
        {
            throw new RpcException(
                RpcStatusCode.Unauthenticated,
                $"The caller of {What} is anonymous and cannot be impersonated.");
        }

        if (OperatingSystem.IsWindows() && User is WindowsIdentity identity)
        {
            WindowsIdentity.RunImpersonated(identity.AccessToken, action);
            return;
        }

        throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"'{User.Name}' cannot be impersonated: a thread can act as another user only on Windows. "
            + "Check what the caller may do with User or an authorisation rule instead.");
    }
}
