using System.Collections.ObjectModel;
using System.Management.Automation;
using System.Security.Principal;

namespace ProtoRpc;

/// <summary>The context of a call, <c>$RpcContext</c> in handlers. Valid until the handler ends.</summary>
public abstract class RpcHandlerContext
{
    private readonly RpcPeerContext _context;

    private protected RpcHandlerContext(RpcPeerContext context) => _context = context;

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _context.User;

    /// <summary>Whether the user is authenticated.</summary>
    public bool IsAuthenticated => _context.IsAuthenticated;

    /// <summary>The authentication type of the user; empty for an anonymous caller.</summary>
    public string AuthenticationType => _context.AuthenticationType;

    /// <summary>The protection of the call's data on the network.</summary>
    public RpcProtectionLevel ProtectionLevel => _context.ProtectionLevel;

    /// <summary>The transport of the call.</summary>
    public RpcTransport Transport => _context.Transport;

    /// <summary>The listener's endpoint that received the call.</summary>
    public RpcEndpoint Endpoint => _context.Endpoint;

    /// <summary>The remote address and port; empty on local transports.</summary>
    public string ClientAddress => _context.ClientAddress;

    /// <summary>The id of the calling process; 0 if the kernel does not report it.</summary>
    public int ProcessId => _context.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _context.IsLocal;

    /// <summary>When the caller stops waiting; null if the caller sent no deadline.</summary>
    public DateTimeOffset? Deadline => _context.Deadline;

    /// <summary>Cancelled when the caller cancels or disconnects, when the deadline passes, or when the
    /// listener stops.</summary>
    public CancellationToken CancellationToken => _context.CancellationToken;

    /// <summary>Runs a block under the caller's identity, and returns its output.</summary>
    /// <exception cref="RpcException">Unauthenticated: the caller is anonymous. Unimplemented: the system
    /// does not support impersonation.</exception>
    public Collection<PSObject> Impersonate(ScriptBlock block)
    {
        ArgumentNullException.ThrowIfNull(block);
        Collection<PSObject> output = [];
        _context.Impersonate(() => output = block.Invoke());
        return output;
    }
}
