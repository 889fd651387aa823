using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using ProtoRpc;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Lrpc;

[assembly: Transport<LrpcTransport>(RpcTransport.Lrpc)]

namespace ProtoRpc.Transports.Lrpc;

/// <summary>LRPC: <c>ncalrpc</c> of Windows' own RPC runtime, which the original uses.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcTransport : IMessageTransport
{
    public const string Sequence = "ncalrpc";

    // RPC_C_PROTSEQ_MAX_REQS_DEFAULT.
    private const uint DefaultBacklog = 10;

    // The runtime keeps an endpoint until the process ends; it has no function to close one.
    private static readonly HashSet<RpcEndpoint> Opened = [];

    public bool IsOfThisSystem => OperatingSystem.IsWindows();

    public IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler)
    {
        OpenEndpoint(endpoint);
        return LrpcInterface.Serve(endpoint, interfaceId, maxRequest, handler);
    }

    public IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId) =>
        new LrpcConnection(endpoint, interfaceId);

    private static void OpenEndpoint(RpcEndpoint endpoint)
    {
        lock (Opened)
        {
            if (Opened.Contains(endpoint))
            {
                return;
            }

            uint status;
            fixed (byte* security = OwnerOnly())
            {
                status = Rpcrt4.UseEndpoint(Sequence, DefaultBacklog, endpoint.Name, security);
            }

            if (status != 0)
            {
                throw LrpcErrors.CannotListen(endpoint, status);
            }

            Opened.Add(endpoint);
        }
    }

    private static byte[] OwnerOnly()
    {
        RawSecurityDescriptor security = new($"D:P(A;;GA;;;{ProcessToken.User})");
        byte[] bytes = new byte[security.BinaryLength];
        security.GetBinaryForm(bytes, 0);
        return bytes;
    }
}

/// <summary>A binding handle of Windows' RPC runtime for one interface.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcConnection : IMessageConnection
{
    // The runtime may read the description of an interface until the process ends, so it is never freed.
    private static readonly ConcurrentDictionary<Guid, nint> Interfaces = [];

    private readonly void* _interface;
    private nint _binding;

    /// <exception cref="RpcException">InvalidArgument, Unavailable: the runtime does not accept the
    /// endpoint.</exception>
    public LrpcConnection(RpcEndpoint endpoint, Guid interfaceId)
    {
        _interface = (void*)Interfaces.GetOrAdd(interfaceId, Describe);

        // Identification: the server can read the caller's identity, but cannot act as the caller.
        string text = $"{LrpcTransport.Sequence}:[{endpoint.Name},Security=Identification Static True]";
        nint binding = 0;
        uint status = Rpcrt4.BindingFromString(text, &binding);
        _binding = status == 0 ? binding : throw LrpcErrors.CannotBind(endpoint, status);
    }

    public uint Reach()
    {
        // On Windows, getting a buffer connects to the server's interface. Wine only connects at the first
        // call, but checks here whether the endpoint exists.
        RpcMessage message = NewMessage(ExecStub.RequestPrefix);
        uint status = Rpcrt4.GetBuffer(&message);
        if (status != 0)
        {
            return status;
        }

        Rpcrt4.FreeBuffer(&message);
        status = Rpcrt4.IsServerListening(_binding);
        return status is WindowsStatus.ServerUnavailable or WindowsStatus.EndpointNotRegistered ? status : 0;
    }

    public uint Call(IOutgoingMessage message)
    {
        RpcMessage native = NewMessage(message.Length);
        uint status = Rpcrt4.GetBuffer(&native);
        if (status != 0)
        {
            return status;
        }

        if (!message.TryWrite(new Span<byte>(native.Buffer, message.Length)))
        {
            Rpcrt4.FreeBuffer(&native);
            return WindowsStatus.CallCancelled;
        }

        status = Rpcrt4.SendReceive(&native);
        if (status != 0)
        {
            // The runtime has freed the buffer if the call failed.
            return status;
        }

        try
        {
            message.Take(
                new ReadOnlySpan<byte>(native.Buffer, (int)Math.Min(native.BufferLength, int.MaxValue)),
                LrpcRequest.IsLittle(native.DataRepresentation));
            return 0;
        }
        finally
        {
            Rpcrt4.FreeBuffer(&native);
        }
    }

    public void Dispose()
    {
        nint binding = Interlocked.Exchange(ref _binding, 0);
        if (binding != 0)
        {
            Rpcrt4.FreeBinding(&binding);
        }
    }

    private RpcMessage NewMessage(int length) => new()
    {
        Binding = _binding,
        DataRepresentation = Rpcrt4.LocalRepresentation,
        BufferLength = (uint)length,
        Interface = _interface,
    };

    private static nint Describe(Guid interfaceId)
    {
        RpcClientInterface* description =
            (RpcClientInterface*)NativeMemory.AllocZeroed((nuint)sizeof(RpcClientInterface));
        description->Length = (uint)sizeof(RpcClientInterface);
        description->Interface = new RpcSyntax(interfaceId, 1);
        description->TransferSyntax = new RpcSyntax(SyntaxId.Ndr.Id, 2);
        return (nint)description;
    }
}

/// <summary>Makes exceptions of what Windows' RPC runtime reports about endpoints and interfaces.</summary>
internal static class LrpcErrors
{
    /// <summary>The endpoint cannot be opened, or the interface cannot be registered.</summary>
    public static RpcException CannotListen(RpcEndpoint endpoint, uint status) => status switch
    {
        WindowsStatus.DuplicateEndpoint => EndpointErrors.InUse(endpoint),
        WindowsStatus.AccessDenied => new RpcException(
            RpcStatusCode.PermissionDenied,
            $"Cannot listen on '{endpoint}': this account may not listen there.")
        {
            Endpoint = endpoint,
            NativeStatus = status,
        },
        _ => Failed($"Cannot listen on '{endpoint}'", endpoint, status),
    };

    /// <summary>The runtime does not accept the endpoint.</summary>
    public static RpcException CannotBind(RpcEndpoint endpoint, uint status) =>
        Failed($"Cannot connect to '{endpoint}'", endpoint, status);

    private static RpcException Failed(string what, RpcEndpoint endpoint, uint status) =>
        status is WindowsStatus.InvalidEndpointFormat or WindowsStatus.StringTooLong
            ? new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{what}: the RPC runtime of Windows does not accept the name (status {status}). Use a "
                + "shorter one of letters and digits.")
            {
                ErrorId = RpcErrorIds.InvalidEndpoint,
                Endpoint = endpoint,
                NativeStatus = status,
            }
            : new RpcException(
                RpcStatusCode.Unavailable,
                $"{what}: the RPC runtime of Windows returned status {status} "
                + $"({RpcStatusTable.OfNativeStatus(status).Meaning}).")
            {
                Endpoint = endpoint,
                NativeStatus = status,
            };
}
