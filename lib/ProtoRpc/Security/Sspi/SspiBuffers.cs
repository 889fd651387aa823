using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecBufferDesc</c>: the parts of a message.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiBuffers(SspiBuffer* parts, int count)
{
    /// <summary>Parts of a PDU: what stands before the data, the data, what stands after it, the
    /// signature.</summary>
    public const int OfPdu = 4;

    public uint Version = 0;
    public uint Count = (uint)count;
    public SspiBuffer* Parts = parts;

    /// <summary>Describes a PDU as the runtime of Windows does ([MS-RPCE] section 2.2.2.11): only the data is
    /// encrypted, and header and trailer are signed where both sides agreed on it.</summary>
    /// <param name="parts">Room for <see cref="OfPdu"/> parts.</param>
    /// <param name="pdu">The PDU but for the signature.</param>
    /// <param name="length">Its octets.</param>
    /// <param name="data">Where stub and padding are in it.</param>
    /// <param name="signsHeaders">Whether both sides agreed to sign headers.</param>
    /// <param name="token">The signature.</param>
    /// <param name="tokenLength">Its octets.</param>
    public static SspiBuffers Describe(
        SspiBuffer* parts, byte* pdu, int length, Range data, bool signsHeaders, byte* token, int tokenLength)
    {
        (int offset, int size) = data.GetOffsetAndLength(length);
        int end = offset + size;
        uint around =
            SspiBuffer.Data | (signsHeaders ? SspiBuffer.ReadOnlyWithChecksum : SspiBuffer.ReadOnly);
        parts[0] = new SspiBuffer(around, pdu, offset);
        parts[1] = new SspiBuffer(SspiBuffer.Data, pdu + offset, size);
        parts[2] = new SspiBuffer(around, pdu + end, length - end);
        parts[3] = new SspiBuffer(SspiBuffer.Token, token, tokenLength);
        return new SspiBuffers(parts, OfPdu);
    }
}

/// <summary><c>SecBuffer</c>: octets, how many, and what they are.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiBuffer(uint type, byte* value, int length)
{
    public const uint Data = 1;
    public const uint Token = 2;

    /// <summary>On data: not encrypted, and signed by packages that sign whole messages anyhow.</summary>
    public const uint ReadOnly = 0x80000000;

    /// <summary>On data: not encrypted, and signed.</summary>
    public const uint ReadOnlyWithChecksum = 0x10000000;

    public uint Length = (uint)length;
    public uint Type = type;
    public byte* Value = value;
}
