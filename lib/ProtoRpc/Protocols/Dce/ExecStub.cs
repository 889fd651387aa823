using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The arguments of the one operation <c>Exec</c> in NDR 2.0:
/// bytes in, bytes and a return code out.</summary>
internal static class ExecStub
{
    /// <summary>Octets before the payload of a request: its size, and the array's count.</summary>
    public const int RequestPrefix = 8;

    /// <summary>Octets before the payload of a response:
    /// its size, the pointer, and the array's count.</summary>
    public const int ResponsePrefix = 12;

    /// <summary>The maximum number of octets after the payload of a response: padding and the return
    /// code.</summary>
    public const int ResponseSuffix = 7;

    // Windows' NDR engine numbers the pointers of a stub from this value; any value but 0 is valid.
    private const uint ReferentId = 0x00020000;
    private const int NullResponseSize = 12;
    private const int ReturnCodeSize = 4;

    /// <summary>Finds the payload of a request.</summary>
    /// <param name="stub">The whole stub.</param>
    /// <param name="littleEndian">Its byte order.</param>
    /// <param name="allowTrailing">Whether octets may follow, such as the verification trailer of an
    /// authenticated caller.</param>
    /// <param name="payload">The payload in the stub.</param>
    /// <returns>False for bad stub data.</returns>
    public static bool TryReadRequest(
        ReadOnlyMemory<byte> stub, bool littleEndian, bool allowTrailing, out ReadOnlyMemory<byte> payload)
    {
        payload = default;
        PduReader reader = new(stub.Span, littleEndian);
        uint size = reader.ReadUInt32();
        uint count = reader.ReadUInt32();

        // The size is a signed number in NDR: a negative size is larger than any stub when read as unsigned.
        if (reader.Failed || size != count || size > (uint)(stub.Length - RequestPrefix))
        {
            return false;
        }

        if (!allowTrailing && size != (uint)(stub.Length - RequestPrefix))
        {
            return false;
        }

        payload = stub.Slice(RequestPrefix, (int)size);
        return true;
    }

    /// <summary>Writes the octets before a request's payload.</summary>
    public static void WriteRequestPrefix(Span<byte> stub, int payloadLength)
    {
        BinaryPrimitives.WriteInt32LittleEndian(stub, payloadLength);
        BinaryPrimitives.WriteInt32LittleEndian(stub[4..], payloadLength);
    }

    /// <summary>Finds payload and return code of a response.</summary>
    /// <returns>False for bad stub data.</returns>
    public static bool TryReadResponse(
        ReadOnlyMemory<byte> stub, bool littleEndian, bool allowTrailing, out ReadOnlyMemory<byte> payload,
        out uint returnCode)
    {
        payload = default;
        PduReader reader = new(stub.Span, littleEndian);
        uint size = reader.ReadUInt32();
        uint pointer = reader.ReadUInt32();
        if (pointer == 0)
        {
            returnCode = reader.ReadUInt32();
            return size == 0 && (allowTrailing ? !reader.Failed : reader.AtEnd);
        }

        uint count = reader.ReadUInt32();
        if (reader.Failed || size != count || size > (uint)(stub.Length - ResponsePrefix))
        {
            returnCode = 0;
            return false;
        }

        payload = stub.Slice(ResponsePrefix, (int)size);
        reader.Skip((int)size);
        reader.Align(4);
        returnCode = reader.ReadUInt32();
        return allowTrailing ? !reader.Failed : reader.AtEnd;
    }

    /// <summary>Completes a response stub around its payload.</summary>
    /// <param name="stub">Prefix, payload, and room for <see cref="ResponseSuffix"/> octets.</param>
    /// <param name="payloadLength">The length of the payload, which is omitted if the return code is not
    /// 0.</param>
    /// <param name="returnCode">0 for success.</param>
    /// <returns>The stub's length.</returns>
    public static int WriteResponse(Span<byte> stub, int payloadLength, uint returnCode)
    {
        if (returnCode != 0)
        {
            stub[..8].Clear();
            BinaryPrimitives.WriteUInt32LittleEndian(stub[8..], returnCode);
            return NullResponseSize;
        }

        BinaryPrimitives.WriteInt32LittleEndian(stub, payloadLength);
        BinaryPrimitives.WriteUInt32LittleEndian(stub[4..], ReferentId);
        BinaryPrimitives.WriteInt32LittleEndian(stub[8..], payloadLength);
        int end = ResponsePrefix + payloadLength;
        int padding = -end & 3;
        stub.Slice(end, padding + ReturnCodeSize).Clear();
        return end + padding + ReturnCodeSize;
    }
}
