using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>An interface that this process has registered with Windows' RPC runtime. The runtime serves it on
/// every LRPC endpoint of the process, and calls one function for its requests.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcInterface
{
    // RPC_IF_AUTOLISTEN: RpcServerListen would listen for all interfaces of the process, and its stop ends
    // them all. RPC_IF_ALLOW_LOCAL_ONLY: other code of the process may have opened TCP endpoints.
    private const uint Flags = 0x01 | 0x20;

    // RPC_C_LISTEN_MAX_CALLS_DEFAULT.
    private const uint MaxCalls = 1234;

    // The runtime calls a function without any state of ours, so the interface leads to its handler. Entries
    // stay, because calls of an interface that is not registered any more may still run.
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

    /// <summary>Serves an interface. The first of several handlers gets the calls.</summary>
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
                served._isRegistered = status == 0
                    ? true
                    : throw LrpcErrors.CannotListen(endpoint, status);
            }

            served._handlers = [.. served._handlers, handler];
        }

        return new Registration(served, handler);
    }

    // An exception must not leave a function that native code calls: the callee catches them all.
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
            // There is no memory for an answer. Nothing can be reported, and the process must live on.
        }
    }

    private void Remove(IncomingMessageHandler handler)
    {
        lock (_gate)
        {
            // Two endpoints may have the same handler.
            List<IncomingMessageHandler> handlers = [.. _handlers];
            handlers.Remove(handler);
            _handlers = [.. handlers];

            // Waiting for calls (1) would never end if a handler hangs. If the runtime refuses because of
            // them, the interface stays registered and refuses its calls itself.
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
