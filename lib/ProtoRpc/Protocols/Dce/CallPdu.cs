using ProtoRpc.Security;

namespace ProtoRpc.Protocols.Dce;

/// <summary>One fragment of a request or response: its fields, and the position of the stub.</summary>
/// <param name="ContextId">The presentation context.</param>
/// <param name="Operation">The operation number; 0 on a response.</param>
/// <param name="StubOffset">Where the stub begins in the PDU.</param>
/// <param name="StubLength">The stub without padding and security trailer.</param>
internal readonly record struct CallPdu(ushort ContextId, ushort Operation, int StubOffset, int StubLength)
{
    private const int ObjectUuidSize = 16;

    /// <summary>Reads a whole PDU.</summary>
    /// <returns>False if the PDU is shorter than its flags and lengths require.</returns>
    public static bool TryRead(in PduHeader header, ReadOnlySpan<byte> pdu, out CallPdu call)
    {
        call = default;
        bool hasObject = header.Type == PduType.Request && header.Flags.HasFlag(PduFlags.ObjectUuid);
        int stubOffset = PduHeader.CallSize + (hasObject ? ObjectUuidSize : 0);
        int stubLength = pdu.Length - stubOffset - header.TrailerLength;
        if (header.AuthLength != 0)
        {
            if (stubLength < 0 || !AuthTrailer.TryRead(header, pdu, stubOffset, out AuthTrailer trailer))
            {
                return false;
            }

            stubLength -= trailer.PadLength;
        }

        // The allocation hint is skipped, because the peer chooses it: memory is only allocated for received
        // bytes.
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.Size + 4);
        ushort contextId = reader.ReadUInt16();
        ushort operation = reader.ReadUInt16();
        call = new CallPdu(
            contextId, header.Type == PduType.Request ? operation : (ushort)0, stubOffset, stubLength);
        return !reader.Failed && stubLength >= 0;
    }

    /// <summary>Removes the protection of a fragment in place, if it has the protection that was
    /// negotiated.</summary>
    /// <param name="header">The header, already checked.</param>
    /// <param name="pdu">The PDU.</param>
    /// <param name="protection">The negotiated protection; null for none.</param>
    /// <returns>False if the fragment is protected and should not be or the reverse, or if the signature is
    /// wrong.</returns>
    public static bool TryUnprotect(in PduHeader header, Span<byte> pdu, PduProtection? protection)
    {
        if (protection is null || header.AuthLength == 0)
        {
            return protection is null && header.AuthLength == 0;
        }

        // A PDU with another package, level or context than the negotiated one could bypass the protection.
        return TryRead(header, pdu, out CallPdu call)
            && AuthTrailer.TryRead(header, pdu, call.StubOffset, out AuthTrailer trailer)
            && trailer with { PadLength = 0 } == protection.Trailer
            && protection.TryUnprotect(pdu, call.StubOffset, header.AuthLength);
    }

    /// <summary>Writes header and fixed part of a fragment;
    /// the stub follows at <see cref="PduHeader.CallSize"/>.</summary>
    public static void Write(
        Span<byte> target, PduType type, PduFlags flags, int stubLength,
        uint callId, uint allocationHint, ushort contextId)
    {
        PduHeader.Write(target, type, flags, PduHeader.CallSize + stubLength, 0, callId);
        PduWriter writer = new(target, PduHeader.Size);
        writer.WriteUInt32(allocationHint);
        writer.WriteUInt16(contextId);

        // Both types need 0 here: the operation number of a request, and the cancel count of a response.
        writer.WriteUInt16(0);
    }
}

/// <summary>The body of fault.</summary>
internal static class FaultPdu
{
    private const int Size = 32;

    /// <summary>Reads the status. Some peers omit the fields after it, or append data.</summary>
    /// <returns>False when the status is missing.</returns>
    public static bool TryReadStatus(in PduHeader header, ReadOnlySpan<byte> pdu, out uint status)
    {
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.CallSize);
        status = reader.ReadUInt32();
        return !reader.Failed;
    }

    /// <summary>Writes the whole PDU.</summary>
    public static byte[] ToBytes(uint status, uint callId, ushort contextId, bool didNotExecute)
    {
        byte[] pdu = new byte[Size];
        PduFlags flags = didNotExecute ? PduFlags.Single | PduFlags.DidNotExecute : PduFlags.Single;
        PduHeader.Write(pdu, PduType.Fault, flags, Size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt32(Size);
        writer.WriteUInt16(contextId);
        writer.WriteUInt16(0);
        writer.WriteUInt32(status);
        writer.WriteUInt32(0);
        return pdu;
    }
}

/// <summary>The fault statuses that this server sends ([MS-RPCE] section 2.2.2.11).</summary>
internal static class FaultStatus
{
    /// <summary>The caller is anonymous, or its authentication failed.</summary>
    public const uint AccessDenied = 0x00000005;

    /// <summary>Calls need a higher protection level.</summary>
    public const uint UnsupportedLevel = 0x1C00001D;

    /// <summary>The arguments cannot be decoded.</summary>
    public const uint BadStubData = 0x000006F7;

    /// <summary>The request names a context that was not accepted.</summary>
    public const uint InvalidContext = 0x1C00001C;

    /// <summary>An operation other than 0.</summary>
    public const uint OperationRange = 0x1C010002;

    /// <summary>The interface was withdrawn.</summary>
    public const uint UnknownInterface = 0x1C010003;

    /// <summary>The peer sent PDUs in an order that the protocol does not allow.</summary>
    public const uint ProtocolError = 0x1C01000B;

    /// <summary>The reply is over the limit.</summary>
    public const uint ReplyTooLarge = 0x1C010013;

    /// <summary>The server has too many calls, or no memory for the request now.</summary>
    public const uint TooBusy = 0x1C010014;

    /// <summary>The request is over the limit.</summary>
    public const uint RequestTooLarge = 0x1C00001B;

    /// <summary>The call was cancelled.</summary>
    public const uint Cancelled = 0x1C00000D;
}

/// <summary>The Win32 codes that the RPC runtime of Windows reports instead of faults ([MS-ERREF] 2.2). A
/// message transport uses them in both directions.</summary>
internal static class WindowsStatus
{
    /// <summary>The caller is not accepted.</summary>
    public const uint AccessDenied = 5;

    /// <summary>The reply is over the limit.</summary>
    public const uint ReplyTooLarge = 1130;

    /// <summary>The call does not exist.</summary>
    public const uint NotFound = 1168;

    /// <summary>The name of an endpoint is malformed.</summary>
    public const uint InvalidEndpointFormat = 1706;

    /// <summary>The interface is not served.</summary>
    public const uint UnknownInterface = 1717;

    /// <summary>The server's endpoint does not exist.</summary>
    public const uint ServerUnavailable = 1722;

    /// <summary>The server has too many calls, or the request is over its limit.</summary>
    public const uint ServerTooBusy = 1723;

    /// <summary>The call failed, and may have run.</summary>
    public const uint CallFailed = 1726;

    /// <summary>The call failed and did not run.</summary>
    public const uint CallFailedDidNotExecute = 1727;

    /// <summary>The endpoint exists already.</summary>
    public const uint DuplicateEndpoint = 1740;

    /// <summary>A text is longer than the runtime accepts.</summary>
    public const uint StringTooLong = 1743;

    /// <summary>The server does not listen.</summary>
    public const uint EndpointNotRegistered = 1753;

    /// <summary>The arguments cannot be decoded.</summary>
    public const uint BadStubData = 1783;

    /// <summary>The call was cancelled.</summary>
    public const uint CallCancelled = 1818;

    /// <summary>Calls need a higher protection level.</summary>
    public const uint UnsupportedLevel = 1821;

    /// <summary>E_FAIL: the original server also returns this status if its handler throws.</summary>
    public const uint HandlerFailed = 0x80004005;
}

/// <summary>Creates exceptions from the faults and codes that peers send instead of a reply.</summary>
internal static class NativeFault
{
    public static RpcException ToException(RpcEndpoint endpoint, uint status, bool mayHaveExecuted)
    {
        (RpcStatusCode code, string meaning) = RpcStatusTable.OfNativeStatus(status);
        return new RpcException(code, $"'{endpoint}' returned fault 0x{status:X8}: {meaning}.")
        {
            Endpoint = endpoint,
            NativeStatus = status,
            MayHaveExecuted = mayHaveExecuted,
            RetryAfter = status == FaultStatus.TooBusy && !mayHaveExecuted ? TimeSpan.Zero : null,
        };
    }

    /// <summary>A return code of the interface other than 0.</summary>
    public static RpcException OfReturnCode(RpcEndpoint endpoint, string what, uint code)
    {
        (RpcStatusCode status, string meaning) = RpcStatusTable.OfNativeStatus(code);
        return new RpcException(status, $"{what} ended with return code 0x{code:X8}: {meaning}.")
        {
            Endpoint = endpoint,
            NativeStatus = code,
            MayHaveExecuted = true,
        };
    }

    /// <summary>The server rejects anonymous callers.</summary>
    public static RpcException Anonymous(RpcEndpoint endpoint, uint status) => new(
        RpcStatusCode.Unauthenticated,
        $"'{endpoint}' requires authentication, and this connection is anonymous. "
        + CallerProof.Advice(CallerProofs.Password | CallerProofs.OwnAccount))
    {
        ErrorId = RpcErrorIds.AuthenticationRequired,
        Endpoint = endpoint,
        NativeStatus = status,
    };

    /// <summary>A fault instead of a reply to the bind.</summary>
    public static RpcException OfBind(RpcEndpoint endpoint, uint status) =>
        status == FaultStatus.AccessDenied && endpoint.Has(EndpointFeatures.OtherAccounts)
            ? new RpcException(
                RpcStatusCode.PermissionDenied,
                $"'{endpoint}' rejected the connection: this account may not connect. "
                + AllowedAccounts.Advice)
            {
                Endpoint = endpoint,
                NativeStatus = status,
            }
            : ToException(endpoint, status, mayHaveExecuted: false);

    /// <summary>The peer violates the protocol, or uses another one.</summary>
    public static RpcException BrokenProtocol(RpcEndpoint endpoint, string what, bool mayHaveExecuted) => new(
        RpcStatusCode.Internal,
        $"'{endpoint}' violates the DCE/RPC protocol: {what}. Check that a DCE/RPC server listens there.")
    {
        ErrorId = RpcErrorIds.ProtocolError,
        Endpoint = endpoint,
        MayHaveExecuted = mayHaveExecuted,
    };
}
