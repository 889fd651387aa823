using System.Runtime.Versioning;
using System.Security;
using System.Security.Principal;
using ProtoRpc.Security;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>The caller of an LRPC call, as identified by the system.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe class LrpcPeer
{
    // TRANSPORT_TYPE_LPC.
    private const uint Local = 4;

    /// <summary>Whether a call came by LRPC: the runtime serves an interface on every endpoint of the
    /// process, and other code may have opened pipes.</summary>
    public static bool IsLocal(nint binding)
    {
        uint type = 0;
        return Rpcrt4.ReadTransportType(binding, &type) == 0 && type == Local;
    }

    /// <summary>Reads the user, on the thread of the call.</summary>
    /// <returns>Null if the client forbids to be identified, or is anonymous.</returns>
    public static WindowsIdentity? ReadUser(nint binding)
    {
        if (Rpcrt4.Impersonate(binding) != 0)
        {
            return null;
        }

        WindowsIdentity? user = ReadImpersonated();

        // No handler may run as the caller. The runtime reverts, too, when its function returns.
        return Rpcrt4.RevertToSelf() == 0 ? user : null;
    }

    /// <summary>A caller with its process, on the thread of the call.</summary>
    public static PeerIdentity Describe(nint binding, WindowsIdentity user) =>
        new(user, "", ReadProcess(binding), IsLocal: true)
        {
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };

    // Wine 8 does not implement RpcServerInqCallAttributes, which has it as well.
    private static int ReadProcess(nint binding)
    {
        uint processId = 0;
        return Rpcrt4.ReadClientProcess(binding, &processId) == 0 ? (int)processId : 0;
    }

    // It keeps a token, for groups and for handlers that act as the caller.
    private static WindowsIdentity? ReadImpersonated()
    {
        try
        {
            using WindowsIdentity? caller = WindowsIdentity.GetCurrent(ifImpersonating: true);
            return caller is { IsAnonymous: false }
                ? new WindowsIdentity(caller.Token, UnixPeer.AuthenticationType)
                : null;
        }
        catch (Exception e) when (e is SecurityException or UnauthorizedAccessException or ArgumentException)
        {
            return null;
        }
    }
}
