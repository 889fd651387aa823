using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>A binding handle of Windows' RPC runtime for one interface.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcConnection : IMessageConnection
{
    // The runtime may look at the description of an interface for as long as the process lives.
    private static readonly ConcurrentDictionary<Guid, nint> Interfaces = [];

    private readonly void* _interface;
    private nint _binding;

    /// <exception cref="RpcException">InvalidArgument, Unavailable: the runtime does not accept the
    /// endpoint.</exception>
    public LrpcConnection(RpcEndpoint endpoint, Guid interfaceId)
    {
        _interface = (void*)Interfaces.GetOrAdd(interfaceId, Describe);

        // Identification: the server may read who calls, and may not act as the caller.
        string text = $"{LrpcTransport.Sequence}:[{endpoint.Name},Security=Identification Static True]";
        nint binding = 0;
        uint status = Rpcrt4.BindingFromString(text, &binding);
        _binding = status == 0 ? binding : throw LrpcErrors.CannotBind(endpoint, status);
    }

    /// <inheritdoc/>
    public uint Reach()
    {
        // On Windows, a buffer needs a binding to the server's interface. Wine connects with the first call,
        // but knows whether the endpoint exists.
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

    /// <inheritdoc/>
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
            // The runtime has freed the buffer.
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

    /// <inheritdoc/>
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
