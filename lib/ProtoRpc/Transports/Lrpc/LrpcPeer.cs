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

    private static readonly SecurityIdentifier? Own = ReadOwn();

    /// <summary>Whether a call came by LRPC: the runtime serves an interface on every endpoint of the
    /// process, and other code may have opened pipes.</summary>
    public static bool IsLocal(nint binding)
    {
        uint type = 0;
        return Rpcrt4.ReadTransportType(binding, &type) == 0 && type == Local;
    }

    /// <summary>Whether the caller has the account of this process: other code of the process may have opened
    /// an LRPC endpoint for more callers, and the runtime serves the interface there, too.</summary>
    public static bool IsOwner(nint binding) => AsCaller(
        binding, static caller => Own is { } own && own == caller?.User, otherwise: false);

    /// <summary>Reads user and process of the caller, on the thread of the call.</summary>
    public static PeerIdentity Read(nint binding)
    {
        IIdentity user = ReadUser(binding);
        return new PeerIdentity(user, "", ReadProcess(binding), IsLocal: true)
        {
            ProtectionLevel = user.IsAuthenticated ? RpcProtectionLevel.Privacy : RpcProtectionLevel.None,
        };
    }

    private static SecurityIdentifier? ReadOwn()
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        return self.User;
    }

    // Wine 8 does not implement RpcServerInqCallAttributes, which has it as well.
    private static int ReadProcess(nint binding)
    {
        uint processId = 0;
        return Rpcrt4.ReadClientProcess(binding, &processId) == 0 ? (int)processId : 0;
    }

    // A client may forbid to be identified; then it is anonymous.
    private static IIdentity ReadUser(nint binding) => AsCaller<IIdentity>(
        binding,
        static caller => caller is { IsAnonymous: false, Name.Length: > 0 }
            // It keeps a token, for rules that name groups.
            ? new WindowsIdentity(caller.Token, UnixPeer.AuthenticationType)
            : new GenericIdentity(""),
        new GenericIdentity(""));

    private static T AsCaller<T>(nint binding, Func<WindowsIdentity?, T> read, T otherwise)
    {
        if (Rpcrt4.Impersonate(binding) != 0)
        {
            return otherwise;
        }

        try
        {
            using WindowsIdentity? caller = WindowsIdentity.GetCurrent(ifImpersonating: true);
            return read(caller);
        }
        catch (Exception e) when (e is SecurityException or UnauthorizedAccessException)
        {
            return otherwise;
        }
        finally
        {
            Rpcrt4.RevertToSelf();
        }
    }
}
