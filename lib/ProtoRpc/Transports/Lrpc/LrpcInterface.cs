using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>An interface that this process has registered with Windows' RPC runtime. The runtime serves it on
/// every LRPC endpoint of the process, and calls one function for its requests.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcInterface
{
    // RPC_IF_AUTOLISTEN, because RpcServerListen would affect all interfaces of the process.
    // RPC_IF_ALLOW_LOCAL_ONLY, because other code of the process may have opened TCP endpoints.
    private const uint Flags = 0x01 | 0x20;

    // RPC_C_LISTEN_MAX_CALLS_DEFAULT.
    private const uint MaxCalls = 1234;

    // The runtime calls a static function without state, so the handler is found by the interface. Entries
    // are never removed, because calls of an unregistered interface may still run.
    private static readonly ConcurrentDictionary<Guid, LrpcInterface> Table = [];

    private readonly Lock _gate = new();
    private readonly RpcServerInterface* _description;
    private volatile IncomingMessageHandler[] _handlers = [];
    private bool _isRegistered;

    private LrpcInterface(Guid id)
    {
        RpcDispatchTable* table =
            (RpcDispatchTable*)NativeMemory.AllocZeroed((nuint)sizeof(RpcDispatchTable));
        table->Count = 1;
        table->Functions = (delegate* unmanaged[Stdcall]<RpcMessage*, void>*)NativeMemory.AllocZeroed(
            (nuint)sizeof(void*));
        table->Functions[0] = &Dispatch;
        _description = (RpcServerInterface*)NativeMemory.AllocZeroed((nuint)sizeof(RpcServerInterface));
        _description->Length = (uint)sizeof(RpcServerInterface);
        _description->Interface = new RpcSyntax(id, 1);
        _description->TransferSyntax = new RpcSyntax(SyntaxId.Ndr.Id, 2);
        _description->DispatchTable = table;
    }

    /// <summary>Serves an interface. If it has several handlers, the first one receives the calls.</summary>
    /// <exception cref="RpcException">The runtime does not register it.</exception>
    public static IDisposable Serve(
        RpcEndpoint endpoint, Guid id, int maxRequest, IncomingMessageHandler handler)
    {
        LrpcInterface served = Table.GetOrAdd(id, static id => new LrpcInterface(id));
        lock (served._gate)
        {
            if (!served._isRegistered)
            {
                uint status = Rpcrt4.RegisterInterface(
                    served._description, null, null, Flags, MaxCalls, (uint)maxRequest, null);
                served._isRegistered = status == 0 ? true : throw LrpcErrors.CannotListen(endpoint, status);
            }

            served._handlers = [.. served._handlers, handler];
        }

        return new Registration(served, handler);
    }

    // An exception must not cross into native code, so Handle catches all exceptions.
    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvStdcall)])]
    private static void Dispatch(RpcMessage* message) => Handle(message);

    private static void Handle(RpcMessage* message)
    {
        try
        {
            LrpcRequest request = new(message);
            try
            {
                Guid id = ((RpcServerInterface*)message->Interface)->Interface.Id;
                IncomingMessageHandler[] handlers =
                    Table.TryGetValue(id, out LrpcInterface? served) ? served._handlers : [];
                if (!request.TryIdentifyCaller())
                {
                    request.Refuse(WindowsStatus.AccessDenied);
                }
                else if (handlers.Length == 0)
                {
                    request.Refuse(WindowsStatus.UnknownInterface);
                }
                else
                {
                    handlers[0](request);
                }
            }
            catch (Exception)
            {
                request.Refuse(WindowsStatus.HandlerFailed);
            }
        }
        catch (Exception)
        {
            // There is no memory for a reply, so nothing is reported. The process must not end.
        }
    }

    private void Remove(IncomingMessageHandler handler)
    {
        lock (_gate)
        {
            // Two endpoints can have the same handler, so only one entry is removed.
            List<IncomingMessageHandler> handlers = [.. _handlers];
            handlers.Remove(handler);
            _handlers = [.. handlers];

            // With waitForCalls 1, unregistering would block forever if a handler hangs. If the runtime fails
            // because of running calls, the interface stays registered and rejects its calls.
            if (_handlers.Length == 0 && _isRegistered)
            {
                _isRegistered = Rpcrt4.UnregisterInterface(_description, null, waitForCalls: 0) != 0;
            }
        }
    }

    private sealed class Registration(LrpcInterface served, IncomingMessageHandler handler) : IDisposable
    {
        public void Dispose() => served.Remove(handler);
    }
}

/// <summary>A request in the memory of Windows' RPC runtime; valid until its function returns.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcRequest(RpcMessage* message) : IIncomingMessage
{
    private WindowsIdentity? _caller;

    public ReadOnlySpan<byte> Stub =>
        new(message->Buffer, (int)Math.Min(message->BufferLength, int.MaxValue));

    public bool IsLittleEndian => IsLittle(message->DataRepresentation);

    /// <summary>The byte order of a data representation.</summary>
    public static bool IsLittle(uint representation) => (representation & 0xF0) != 0;

    public PeerIdentity ReadPeer() => LrpcPeer.Describe(message->Binding, _caller!);

    /// <summary>Reads the caller's identity, and returns whether it is admitted: only the account of this
    /// process, by LRPC. Other code of the process may have opened endpoints for more callers or on other
    /// transports, and the runtime serves the interface on them as well.</summary>
    public bool TryIdentifyCaller()
    {
        _caller = LrpcPeer.IsLocal(message->Binding) ? LrpcPeer.ReadUser(message->Binding) : null;
        if (_caller is not null && ProcessToken.Trusts(_caller))
        {
            return true;
        }

        _caller?.Dispose();
        return false;
    }

    public void Reply(ReadOnlySpan<byte> stub)
    {
        message->BufferLength = (uint)stub.Length;
        if (Rpcrt4.GetBuffer(message) == 0)
        {
            stub.CopyTo(new Span<byte>(message->Buffer, stub.Length));
        }
        else
        {
            // Without memory, the client receives an empty stub, which it cannot decode.
            message->Buffer = null;
            message->BufferLength = 0;
        }
    }

    /// <summary>Answers with a code and no bytes: a fault would be an exception of the runtime, which cannot
    /// be raised here.</summary>
    public void Refuse(uint code)
    {
        Span<byte> stub = stackalloc byte[ExecStub.ResponsePrefix];
        Reply(stub[..ExecStub.WriteResponse(stub, 0, code)]);
    }
}

/// <summary>The caller of an LRPC call, as identified by the system.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe class LrpcPeer
{
    // TRANSPORT_TYPE_LPC.
    private const uint Local = 4;

    /// <summary>Whether a call arrived by LRPC. The runtime serves an interface on every endpoint of the
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

        // Handlers must not run as the caller. The runtime also reverts when its function returns.
        return Rpcrt4.RevertToSelf() == 0 ? user : null;
    }

    /// <summary>A caller with its process, on the thread of the call.</summary>
    public static PeerIdentity Describe(nint binding, WindowsIdentity user) =>
        new(user, "", ReadProcess(binding), IsLocal: true)
        {
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };

    // RpcServerInqCallAttributes also returns the process, but Wine 8 does not implement it.
    private static int ReadProcess(nint binding)
    {
        uint processId = 0;
        return Rpcrt4.ReadClientProcess(binding, &processId) == 0 ? (int)processId : 0;
    }

    // The identity contains a token, for groups and for impersonation by handlers.
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

/// <summary>The account of this process, and the accounts that are trusted like it.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class ProcessToken
{
    /// <summary>SECURITY_MANDATORY_MEDIUM_RID: what programs have that are not in a sandbox.</summary>
    public const int Medium = 0x2000;

    // TokenIntegrityLevel.
    private const int IntegrityClass = 25;

    // A TOKEN_MANDATORY_LABEL and its SID, which has one part.
    private const int LabelSize = 64;

    /// <summary>The account.</summary>
    public static SecurityIdentifier User { get; } = Read(static self => self.User!);

    private static int Integrity { get; } = Read(static self => ReadIntegrity(self.AccessToken) ?? Medium);

    /// <summary>Whether a caller has the account of this process, and is not in a sandbox with less
    /// rights.</summary>
    public static bool Trusts(WindowsIdentity caller) =>
        caller.User == User
        && ReadIntegrity(caller.AccessToken) is { } level
        && IsEnough(Integrity, level);

    /// <summary>Whether a caller's integrity level suffices. As on pipes and files, a program with more
    /// rights than most serves those too.</summary>
    public static bool IsEnough(int own, int caller) => caller >= Math.Min(own, Medium);

    // RunImpersonated with an invalid handle reads the process's identity, even on a thread that
    // impersonates.
    private static T Read<T>(Func<WindowsIdentity, T> read) =>
        WindowsIdentity.RunImpersonated(SafeAccessTokenHandle.InvalidHandle, () =>
        {
            using WindowsIdentity self = WindowsIdentity.GetCurrent();
            return read(self);
        });

    // The last part of the label's SID, S-1-16-LEVEL.
    private static int? ReadIntegrity(SafeAccessTokenHandle token)
    {
        byte* label = stackalloc byte[LabelSize];
        if (GetTokenInformation(token, IntegrityClass, label, LabelSize, out _) == 0)
        {
            return null;
        }

        string text = new SecurityIdentifier(*(nint*)label).Value;
        return int.Parse(text.AsSpan(text.LastIndexOf('-') + 1), provider: null);
    }

    [LibraryImport("advapi32", SetLastError = true)]
    private static partial int GetTokenInformation(
        SafeAccessTokenHandle token, int kind, byte* value, int size, out int length);
}
