using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The request of a client about its running call.</summary>
internal enum CancelNotice
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>The call should end early; the client still waits for the reply.</summary>
    Cancel,

    /// <summary>The client does not wait for a reply.</summary>
    Orphan,
}

/// <summary>Finds cancellations in the bytes that a client sends while its call runs.</summary>
internal static class CancelNotices
{
    /// <summary>Finds the last notice for a call in whole PDUs. It stops at the first bytes that are no PDU:
    /// they are read and rejected after the call.</summary>
    /// <param name="bytes">Bytes from the beginning of a PDU on.</param>
    /// <param name="callId">The call that runs.</param>
    public static CancelNotice Find(ReadOnlySpan<byte> bytes, uint callId)
    {
        CancelNotice notice = CancelNotice.None;
        while (bytes.Length >= PduHeader.Size)
        {
            PduHeader header = PduHeader.Read(bytes);
            if (header.Check(ushort.MaxValue) != PduDefect.None || header.FragmentLength > bytes.Length)
            {
                break;
            }

            if (header.CallId == callId && header.Type == PduType.Orphaned)
            {
                return CancelNotice.Orphan;
            }

            if (header.CallId == callId && header.Type == PduType.CoCancel)
            {
                notice = CancelNotice.Cancel;
            }

            bytes = bytes[header.FragmentLength..];
        }

        return notice;
    }
}

/// <summary>How clients cancel calls if the RPC runtime of the system has no message for it: each request
/// ends with an id, and a separate interface receives the ids of the calls to cancel.</summary>
/// <remarks>Servers of other programs do not have the interface, so they never receive an id.</remarks>
internal static class CancelStub
{
    /// <summary>Octets after the stub of a request that can be cancelled.</summary>
    public const int TrailerSize = 2 * IdSize;

    /// <summary>Octets of a request to cancel.</summary>
    public const int RequestSize = ExecStub.RequestPrefix + IdSize;

    /// <summary>The maximum length of the reply to a cancellation. It has no payload.</summary>
    public const int ResponseSize = ExecStub.ResponsePrefix + ExecStub.ResponseSuffix;

    private const int IdSize = 16;

    /// <summary>The interface that cancels calls. Cancelling the empty id tests whether a server has
    /// it.</summary>
    public static Guid InterfaceId { get; } = new("6b1d0f5e-2a57-4c0e-9f0a-5d1b8f7c3e42");

    /// <summary>Writes the trailer of a request, with the id of its call.</summary>
    public static void WriteTrailer(Span<byte> trailer, Guid call)
    {
        InterfaceId.TryWriteBytes(trailer);
        call.TryWriteBytes(trailer[IdSize..]);
    }

    /// <summary>Finds the id of a call.</summary>
    /// <param name="stub">The stub of a request.</param>
    /// <param name="call">The id; empty if the request has none.</param>
    /// <returns>The stub without the id.</returns>
    public static ReadOnlySpan<byte> Split(ReadOnlySpan<byte> stub, out Guid call)
    {
        // The arguments must end exactly before the id, because a payload may happen to contain the same
        // octets.
        int end = stub.Length - TrailerSize;
        bool isThere = end >= ExecStub.RequestPrefix
            && BinaryPrimitives.ReadUInt32LittleEndian(stub) == (uint)(end - ExecStub.RequestPrefix)
            && new Guid(stub.Slice(end, IdSize)) == InterfaceId;
        call = isThere ? new Guid(stub[(end + IdSize)..]) : Guid.Empty;
        return isThere ? stub[..end] : stub;
    }

    public static void WriteRequest(Span<byte> stub, Guid call)
    {
        ExecStub.WriteRequestPrefix(stub, IdSize);
        call.TryWriteBytes(stub[ExecStub.RequestPrefix..]);
    }

    /// <summary>Reads a request to cancel.</summary>
    /// <returns>False for bad stub data.</returns>
    public static bool TryReadRequest(ReadOnlySpan<byte> stub, bool isLittleEndian, out Guid call)
    {
        bool isWhole = stub.Length >= RequestSize && isLittleEndian
            && BinaryPrimitives.ReadUInt32LittleEndian(stub) == IdSize
            && BinaryPrimitives.ReadUInt32LittleEndian(stub[4..]) == IdSize;
        call = isWhole ? new Guid(stub.Slice(ExecStub.RequestPrefix, IdSize)) : Guid.Empty;
        return isWhole;
    }
}
