using System.Security.Principal;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>What a handler of either layer may know of its caller. Valid until the handler ends.</summary>
public abstract class RpcPeerContext
{
    private readonly PeerIdentity _peer;

    private protected RpcPeerContext(RpcEndpoint endpoint, PeerIdentity peer)
    {
        Endpoint = endpoint;
        _peer = peer;
    }

    /// <summary>The listener's endpoint that the call came in on.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>How the call came in.</summary>
    public RpcTransport Transport => Endpoint.Transport;

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _peer.User;

    /// <summary>Whether <see cref="User"/> is authenticated.</summary>
    public bool IsAuthenticated => _peer.User.IsAuthenticated;

    /// <summary>How the caller is authenticated: <c>Kernel</c> for local peers, <c>NTLM</c> or
    /// <c>Kerberos</c>, or empty.</summary>
    public string AuthenticationType => _peer.User.AuthenticationType ?? "";

    /// <summary>How the call is protected on its way.</summary>
    public RpcProtectionLevel ProtectionLevel => _peer.ProtectionLevel;

    /// <summary>The remote address with port, or empty on local transports.</summary>
    public string ClientAddress => _peer.Address;

    /// <summary>The calling process, or 0 if the kernel does not report it.</summary>
    public int ProcessId => _peer.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _peer.IsLocal;

    /// <summary>When the caller stops waiting, where it said so.</summary>
    public virtual DateTimeOffset? Deadline => null;

    /// <summary>Cancelled when the caller cancels or vanishes, the deadline passes,
    /// or the listener stops.</summary>
    public abstract CancellationToken CancellationToken { get; }

    /// <summary>When and why the call ends before its handler does.</summary>
    internal abstract HandlerClock Clock { get; }

    /// <summary>Whose call it is, where the calls of clients take turns. Compared by
    /// <see cref="object.Equals(object)"/>.</summary>
    internal virtual object Client => IsLocal && ProcessId != 0
        ? ProcessId
        : ClientAddress[..Math.Max(0, ClientAddress.LastIndexOf(':'))];

    /// <summary>What is called, for messages.</summary>
    internal abstract string What { get; }

    /// <summary>Does something as the caller.</summary>
    /// <exception cref="RpcException">Unauthenticated: the caller is anonymous. Unimplemented:
    /// the system has no impersonation of threads, or no token of the caller.</exception>
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
