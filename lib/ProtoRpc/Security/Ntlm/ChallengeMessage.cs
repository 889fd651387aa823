using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The server's message ([MS-NLMP] section 2.2.1.2).</summary>
/// <param name="Flags">What the server agrees to.</param>
/// <param name="ServerChallenge">Eight random octets.</param>
/// <param name="TargetName">The server's name.</param>
/// <param name="TargetInfo">Names, time and flags of the server.</param>
internal sealed record ChallengeMessage(
    NtlmFlags Flags, byte[] ServerChallenge, string TargetName, AvPairs TargetInfo)
{
    /// <summary>Octets of a challenge.</summary>
    public const int ChallengeSize = 8;

    private const uint Type = 2;
    private const int TargetNameField = NtlmField.HeaderSize;
    private const int FlagsOffset = TargetNameField + NtlmField.Size;
    private const int ChallengeOffset = FlagsOffset + 4;
    private const int TargetInfoField = ChallengeOffset + ChallengeSize + 8;
    private const int VersionOffset = TargetInfoField + NtlmField.Size;

    // Product 10.0, and the revision of NTLM that there is; for debugging, and some clients want to see it.
    private static ReadOnlySpan<byte> Version => [10, 0, 0, 0, 0, 0, 0, 15];

    /// <summary>Reads the message.</summary>
    /// <returns>Null when it is no such message, or points outside of itself.</returns>
    public static ChallengeMessage? Read(ReadOnlySpan<byte> message)
    {
        if (!NtlmField.IsMessage(message, Type, VersionOffset)
            || !NtlmField.TryReadText(message, TargetNameField, out string name)
            || !NtlmField.TryRead(message, TargetInfoField, out ReadOnlySpan<byte> info))
        {
            return null;
        }

        NtlmFlags flags = (NtlmFlags)BinaryPrimitives.ReadUInt32LittleEndian(message[FlagsOffset..]);
        AvPairs? pairs = info.IsEmpty ? new AvPairs() : AvPairs.Read(info);
        return pairs is null
            ? null
            : new ChallengeMessage(
                flags, message.Slice(ChallengeOffset, ChallengeSize).ToArray(), name, pairs);
    }

    /// <summary>Writes the message.</summary>
    public byte[] ToBytes()
    {
        byte[] name = Encoding.Unicode.GetBytes(TargetName);
        byte[] info = TargetInfo.ToBytes();
        ReadOnlySpan<byte> version = Flags.HasFlag(NtlmFlags.Version) ? Version : default;
        int payload = VersionOffset + version.Length;
        byte[] message = new byte[payload + name.Length + info.Length];
        NtlmField.WriteHeader(message, Type);
        BinaryPrimitives.WriteUInt32LittleEndian(message.AsSpan(FlagsOffset), (uint)Flags);
        ServerChallenge.CopyTo(message, ChallengeOffset);
        version.CopyTo(message.AsSpan(VersionOffset));
        int next = NtlmField.Write(message, TargetNameField, payload, name);
        NtlmField.Write(message, TargetInfoField, next, info);
        return message;
    }
}
