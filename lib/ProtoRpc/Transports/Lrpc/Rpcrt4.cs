using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>The functions of Windows' RPC runtime that are used here. They return a status and never raise
/// an exception, which could not cross the frames of the CLR.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class Rpcrt4
{
    /// <summary>Little-endian integers, ASCII and IEEE floats.</summary>
    public const uint LocalRepresentation = 0x10;

    private const string Library = "rpcrt4";

    [LibraryImport(
        Library, EntryPoint = "RpcBindingFromStringBindingW", StringMarshalling = StringMarshalling.Utf16)]
    public static partial uint BindingFromString(string text, nint* binding);

    [LibraryImport(Library, EntryPoint = "RpcBindingFree")]
    public static partial uint FreeBinding(nint* binding);

    [LibraryImport(Library, EntryPoint = "RpcMgmtIsServerListening")]
    public static partial uint IsServerListening(nint binding);

    [LibraryImport(Library, EntryPoint = "I_RpcGetBuffer")]
    public static partial uint GetBuffer(RpcMessage* message);

    [LibraryImport(Library, EntryPoint = "I_RpcSendReceive")]
    public static partial uint SendReceive(RpcMessage* message);

    [LibraryImport(Library, EntryPoint = "I_RpcFreeBuffer")]
    public static partial uint FreeBuffer(RpcMessage* message);

    [LibraryImport(
        Library, EntryPoint = "RpcServerUseProtseqEpW", StringMarshalling = StringMarshalling.Utf16)]
    public static partial uint UseEndpoint(
        string sequence, uint maxCalls, string endpoint, byte* securityDescriptor);

    [LibraryImport(Library, EntryPoint = "RpcServerRegisterIf2")]
    public static partial uint RegisterInterface(
        RpcServerInterface* specification, Guid* managerType, void* managers, uint flags, uint maxCalls,
        uint maxRequest, void* callback);

    [LibraryImport(Library, EntryPoint = "RpcServerUnregisterIf")]
    public static partial uint UnregisterInterface(
        RpcServerInterface* specification, Guid* managerType, uint waitForCalls);

    [LibraryImport(Library, EntryPoint = "I_RpcBindingInqTransportType")]
    public static partial uint ReadTransportType(nint binding, uint* type);

    [LibraryImport(Library, EntryPoint = "I_RpcBindingInqLocalClientPID")]
    public static partial uint ReadClientProcess(nint binding, uint* processId);

    [LibraryImport(Library, EntryPoint = "RpcImpersonateClient")]
    public static partial uint Impersonate(nint binding);

    [LibraryImport(Library, EntryPoint = "RpcRevertToSelf")]
    public static partial uint RevertToSelf();
}

/// <summary>RPC_MESSAGE.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RpcMessage
{
    public nint Binding;
    public uint DataRepresentation;
    public byte* Buffer;
    public uint BufferLength;
    public uint Operation;
    public void* TransferSyntax;
    public void* Interface;
    public void* ReservedForRuntime;
    public void* Managers;
    public void* ImportContext;
    public uint Flags;
}

/// <summary>RPC_SYNTAX_IDENTIFIER.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct RpcSyntax(Guid id, ushort major)
{
    public Guid Id = id;
    public ushort Major = major;
    public ushort Minor;
}

/// <summary>RPC_CLIENT_INTERFACE.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RpcClientInterface
{
    public uint Length;
    public RpcSyntax Interface;
    public RpcSyntax TransferSyntax;
    public void* DispatchTable;
    public uint EndpointCount;
    public void* Endpoints;
    public nint Reserved;
    public void* InterpreterInfo;
    public uint Flags;
}

/// <summary>RPC_SERVER_INTERFACE.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RpcServerInterface
{
    public uint Length;
    public RpcSyntax Interface;
    public RpcSyntax TransferSyntax;
    public RpcDispatchTable* DispatchTable;
    public uint EndpointCount;
    public void* Endpoints;
    public void* Managers;
    public void* InterpreterInfo;
    public uint Flags;
}

/// <summary>RPC_DISPATCH_TABLE.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RpcDispatchTable
{
    public uint Count;
    public delegate* unmanaged[Stdcall]<RpcMessage*, void>* Functions;
    public nint Reserved;
}
