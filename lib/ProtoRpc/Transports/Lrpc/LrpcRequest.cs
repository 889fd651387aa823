using System.Runtime.Versioning;
using System.Security.Principal;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>A request in the memory of Windows' RPC runtime; valid until its function returns.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class LrpcRequest(RpcMessage* message) : IIncomingMessage
{
    private WindowsIdentity? _caller;

    /// <inheritdoc/>
    public ReadOnlySpan<byte> Stub =>
        new(message->Buffer, (int)Math.Min(message->BufferLength, int.MaxValue));

    /// <inheritdoc/>
    public bool IsLittleEndian => IsLittle(message->DataRepresentation);

    /// <summary>The byte order of a data representation.</summary>
    public static bool IsLittle(uint representation) => (representation & 0xF0) != 0;

    /// <inheritdoc/>
    public PeerIdentity ReadPeer() => LrpcPeer.Describe(message->Binding, _caller!);

    /// <summary>Reads who calls, and says whether the caller may: the account of this process, by LRPC. Other
    /// code of the process may have opened endpoints for more callers or on other transports, and the runtime
    /// serves the interface there, too.</summary>
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

    /// <inheritdoc/>
    public void Reply(ReadOnlySpan<byte> stub)
    {
        message->BufferLength = (uint)stub.Length;
        if (Rpcrt4.GetBuffer(message) == 0)
        {
            stub.CopyTo(new Span<byte>(message->Buffer, stub.Length));
        }
        else
        {
            // Without memory, the client gets a stub that it cannot decode.
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
