using System.Collections.ObjectModel;
using System.Management.Automation;
using System.Security.Principal;

namespace ProtoRpc;

/// <summary>Who calls, as handlers see it in <c>$RpcContext</c>. Valid until the handler ends.</summary>
public abstract class RpcHandlerContext
{
    private readonly RpcPeerContext _context;

    private protected RpcHandlerContext(RpcPeerContext context) => _context = context;

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _context.User;

    /// <summary>Whether the user is authenticated.</summary>
    public bool IsAuthenticated => _context.IsAuthenticated;

    /// <summary>How the user is authenticated, or empty.</summary>
    public string AuthenticationType => _context.AuthenticationType;

    /// <summary>How the call is protected on its way.</summary>
    public RpcProtectionLevel ProtectionLevel => _context.ProtectionLevel;

    /// <summary>How the call came in.</summary>
    public RpcTransport Transport => _context.Transport;

    /// <summary>The listener's endpoint that the call came in on.</summary>
    public RpcEndpoint Endpoint => _context.Endpoint;

    /// <summary>The remote address with port, or empty on local transports.</summary>
    public string ClientAddress => _context.ClientAddress;

    /// <summary>The calling process, or 0 if the kernel does not report it.</summary>
    public int ProcessId => _context.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _context.IsLocal;

    /// <summary>When the caller stops waiting, where it said so.</summary>
    public DateTimeOffset? Deadline => _context.Deadline;

    /// <summary>Cancelled when the caller cancels or vanishes, the deadline passes,
    /// or the listener stops.</summary>
    public CancellationToken CancellationToken => _context.CancellationToken;

    /// <summary>Runs a block as the caller, and gives its output.</summary>
    /// <exception cref="RpcException">Unauthenticated for an anonymous caller; Unimplemented where the system
    /// cannot do it.</exception>
    public Collection<PSObject> Impersonate(ScriptBlock block)
    {
        ArgumentNullException.ThrowIfNull(block);
        Collection<PSObject> output = [];
        _context.Impersonate(() => output = block.Invoke());
        return output;
    }
}
