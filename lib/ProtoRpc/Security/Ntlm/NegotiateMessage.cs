using System.Buffers.Binary;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The client's first message ([MS-NLMP] section 2.2.1.1). Domain and workstation, which it may
/// name, are not used by NTLMv2 and are neither sent nor read.</summary>
internal static class NegotiateMessage
{
    private const uint Type = 1;
    private const int FlagsOffset = NtlmField.HeaderSize;
    private const int MinimumSize = FlagsOffset + 4;
    private const int VersionSize = 8;

    // The version field is present even if it is not set ([MS-NLMP] section 2.2.1.1);
    // gss-ntlmssp requires it.
    private const int Size = FlagsOffset + 4 + (2 * NtlmField.Size) + VersionSize;

    /// <summary>Reads the flags.</summary>
    /// <returns>False when it is no such message.</returns>
    public static bool TryRead(ReadOnlySpan<byte> message, out NtlmFlags flags)
    {
        flags = NtlmFlags.None;
        if (!NtlmField.IsMessage(message, Type, MinimumSize))
        {
            return false;
        }

        flags = (NtlmFlags)BinaryPrimitives.ReadUInt32LittleEndian(message[FlagsOffset..]);
        return true;
    }

    /// <summary>Writes the message.</summary>
    public static byte[] ToBytes(NtlmFlags flags)
    {
        byte[] message = new byte[Size];
        NtlmField.WriteHeader(message, Type);
        BinaryPrimitives.WriteUInt32LittleEndian(message.AsSpan(FlagsOffset), (uint)flags);
        return message;
    }
}
