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
    /// <returns>False if it is not such a message.</returns>
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

/// <summary>The server's message ([MS-NLMP] section 2.2.1.2).</summary>
/// <param name="Flags">The flags that the server accepts.</param>
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

    // Windows 10.0 and NTLM revision 15. The field is for debugging, but some clients require it.
    private static ReadOnlySpan<byte> Version => [10, 0, 0, 0, 0, 0, 0, 15];

    /// <summary>Reads the message.</summary>
    /// <returns>Null if it is not such a message, or a field is outside of it.</returns>
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

/// <summary>The client's second message ([MS-NLMP] section 2.2.1.3).</summary>
internal sealed record AuthenticateMessage
{
    /// <summary>Where the integrity code is, in messages that have one.</summary>
    public const int MicOffset = VersionOffset + 8;

    /// <summary>Octets of the integrity code.</summary>
    public const int MicSize = 16;

    private const uint Type = 3;
    private const int LmResponseField = NtlmField.HeaderSize;
    private const int NtResponseField = LmResponseField + NtlmField.Size;
    private const int DomainField = NtResponseField + NtlmField.Size;
    private const int UserField = DomainField + NtlmField.Size;
    private const int WorkstationField = UserField + NtlmField.Size;
    private const int SessionKeyField = WorkstationField + NtlmField.Size;
    private const int FlagsOffset = SessionKeyField + NtlmField.Size;
    private const int VersionOffset = FlagsOffset + 4;
    private const int PayloadOffset = MicOffset + MicSize;

    public required NtlmFlags Flags { get; init; }

    public required string Domain { get; init; }

    public required string User { get; init; }

    public string Workstation { get; init; } = "";

    /// <summary>Only sent: the server verifies NTLMv2 by <see cref="NtResponse"/>.</summary>
    public byte[] LmResponse { get; init; } = [];

    public required byte[] NtResponse { get; init; }

    /// <summary>The session key, encrypted; empty without key exchange.</summary>
    public required byte[] EncryptedSessionKey { get; init; }

    /// <summary>Reads the message.</summary>
    /// <returns>Null if it is not such a message, or a field is outside of it.</returns>
    public static AuthenticateMessage? Read(ReadOnlySpan<byte> message)
    {
        // Messages of older clients have neither a version nor an integrity code.
        if (!NtlmField.IsMessage(message, Type, VersionOffset)
            || !NtlmField.TryRead(message, NtResponseField, out ReadOnlySpan<byte> response)
            || !NtlmField.TryReadText(message, DomainField, out string domain)
            || !NtlmField.TryReadText(message, UserField, out string user)
            || !NtlmField.TryRead(message, SessionKeyField, out ReadOnlySpan<byte> key))
        {
            return null;
        }

        return new AuthenticateMessage
        {
            Flags = (NtlmFlags)BinaryPrimitives.ReadUInt32LittleEndian(message[FlagsOffset..]),
            Domain = domain,
            User = user,
            NtResponse = response.ToArray(),
            EncryptedSessionKey = key.ToArray(),
        };
    }

    /// <summary>Writes the message, with a place of zeros for the integrity code.</summary>
    public byte[] ToBytes()
    {
        byte[] domain = Encoding.Unicode.GetBytes(Domain);
        byte[] user = Encoding.Unicode.GetBytes(User);
        byte[] workstation = Encoding.Unicode.GetBytes(Workstation);
        byte[] message = new byte[PayloadOffset + domain.Length + user.Length + workstation.Length
            + LmResponse.Length + NtResponse.Length + EncryptedSessionKey.Length];
        NtlmField.WriteHeader(message, Type);
        BinaryPrimitives.WriteUInt32LittleEndian(message.AsSpan(FlagsOffset), (uint)Flags);
        int next = NtlmField.Write(message, DomainField, PayloadOffset, domain);
        next = NtlmField.Write(message, UserField, next, user);
        next = NtlmField.Write(message, WorkstationField, next, workstation);
        next = NtlmField.Write(message, LmResponseField, next, LmResponse);
        next = NtlmField.Write(message, NtResponseField, next, NtResponse);
        NtlmField.Write(message, SessionKeyField, next, EncryptedSessionKey);
        return message;
    }
}

/// <summary>The common parts of NTLM messages: signature, type, and fields that refer to the
/// payload.</summary>
internal static class NtlmField
{
    /// <summary>Octets of signature and type.</summary>
    public const int HeaderSize = 12;

    /// <summary>Octets of a field: length twice, and offset.</summary>
    public const int Size = 8;

    private static ReadOnlySpan<byte> Signature => "NTLMSSP\0"u8;

    /// <summary>Whether a message of this type begins here and has the minimum size.</summary>
    public static bool IsMessage(ReadOnlySpan<byte> message, uint type, int minimumSize) =>
        message.Length >= minimumSize
        && message.StartsWith(Signature)
        && BinaryPrimitives.ReadUInt32LittleEndian(message[Signature.Length..]) == type;

    public static void WriteHeader(Span<byte> message, uint type)
    {
        Signature.CopyTo(message);
        BinaryPrimitives.WriteUInt32LittleEndian(message[Signature.Length..], type);
    }

    /// <summary>Reads the value of a field.</summary>
    /// <returns>False when it points outside of the message.</returns>
    public static bool TryRead(ReadOnlySpan<byte> message, int position, out ReadOnlySpan<byte> value)
    {
        int length = BinaryPrimitives.ReadUInt16LittleEndian(message[position..]);
        uint offset = BinaryPrimitives.ReadUInt32LittleEndian(message[(position + 4)..]);
        value = default;
        if (length == 0)
        {
            // The offset of an empty field does not matter.
            return true;
        }

        if (offset > (uint)message.Length || length > message.Length - (int)offset)
        {
            return false;
        }

        value = message.Slice((int)offset, length);
        return true;
    }

    /// <summary>Reads the text that a field points at.</summary>
    /// <returns>False when it points outside of the message, or has half a character.</returns>
    public static bool TryReadText(ReadOnlySpan<byte> message, int position, out string text)
    {
        text = "";
        if (!TryRead(message, position, out ReadOnlySpan<byte> value) || value.Length % 2 != 0)
        {
            return false;
        }

        text = Encoding.Unicode.GetString(value);
        return true;
    }

    /// <summary>Writes a field and its value.</summary>
    /// <param name="message">The message.</param>
    /// <param name="position">Where the field is.</param>
    /// <param name="offset">The position of the value.</param>
    /// <param name="value">The value.</param>
    /// <returns>The position of the next value.</returns>
    public static int Write(Span<byte> message, int position, int offset, ReadOnlySpan<byte> value)
    {
        ushort length = checked((ushort)value.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(message[position..], length);
        BinaryPrimitives.WriteUInt16LittleEndian(message[(position + 2)..], length);
        BinaryPrimitives.WriteUInt32LittleEndian(message[(position + 4)..], (uint)offset);
        value.CopyTo(message[offset..]);
        return offset + value.Length;
    }
}

/// <summary>The negotiate flags ([MS-NLMP] section 2.2.2.5).</summary>
[Flags]
internal enum NtlmFlags : uint
{
    None = 0,
    Unicode = 0x00000001,
    RequestTarget = 0x00000004,
    Sign = 0x00000010,
    Seal = 0x00000020,
    Ntlm = 0x00000200,
    Anonymous = 0x00000800,
    AlwaysSign = 0x00008000,
    TargetTypeServer = 0x00020000,
    ExtendedSessionSecurity = 0x00080000,
    TargetInfo = 0x00800000,
    Version = 0x02000000,
    Key128 = 0x20000000,
    KeyExchange = 0x40000000,
    Key56 = 0x80000000,

    /// <summary>The flags of an NTLMv2 session with 128-bit keys; weaker sessions are rejected.</summary>
    Required = Unicode | Ntlm | ExtendedSessionSecurity | Key128,

    /// <summary>The flags that this side offers and accepts.</summary>
    Supported =
        Required | RequestTarget | Sign | Seal | AlwaysSign | TargetInfo | Version | KeyExchange | Key56,
}

/// <summary>A list of attributes and values, as challenge and response
/// carry it ([MS-NLMP] section 2.2.2.1).</summary>
internal sealed class AvPairs
{
    /// <summary>In <see cref="AvId.Flags"/>: the AUTHENTICATE message has an integrity code.</summary>
    public const uint HasMic = 0x2;

    private const int HeaderSize = 4;
    private readonly List<(AvId Id, byte[] Value)> _pairs = [];

    /// <summary>The time of the peer, if it sent one.</summary>
    public DateTimeOffset? Timestamp => Find(AvId.Timestamp) is { Length: 8 } value
        ? NtlmTime.ToDateTime(BinaryPrimitives.ReadInt64LittleEndian(value))
        : null;

    /// <summary>The flags, 0 for none.</summary>
    public uint Flags =>
        Find(AvId.Flags) is { Length: 4 } value ? BinaryPrimitives.ReadUInt32LittleEndian(value) : 0;

    /// <summary>Reads a list up to its end mark, and ignores the bytes after it.</summary>
    /// <returns>Null when a value or the end mark is missing.</returns>
    public static AvPairs? Read(ReadOnlySpan<byte> bytes)
    {
        AvPairs list = new();
        while (bytes.Length >= HeaderSize)
        {
            AvId id = (AvId)BinaryPrimitives.ReadUInt16LittleEndian(bytes);
            int length = BinaryPrimitives.ReadUInt16LittleEndian(bytes[2..]);
            if (id == AvId.EndOfList)
            {
                return list;
            }

            if (length > bytes.Length - HeaderSize)
            {
                return null;
            }

            list._pairs.Add((id, bytes.Slice(HeaderSize, length).ToArray()));
            bytes = bytes[(HeaderSize + length)..];
        }

        return null;
    }

    /// <summary>The first value of a kind, or null.</summary>
    public byte[]? Find(AvId id) => _pairs.Find(pair => pair.Id == id).Value;

    /// <summary>Sets a value, and replaces those of the same kind.</summary>
    public void Set(AvId id, byte[] value)
    {
        _pairs.RemoveAll(pair => pair.Id == id);
        _pairs.Add((id, value));
    }

    /// <summary>Adds text.</summary>
    public void Set(AvId id, string text) => Set(id, Encoding.Unicode.GetBytes(text));

    public void Set(AvId id, DateTimeOffset time)
    {
        byte[] value = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(value, NtlmTime.FromDateTime(time));
        Set(id, value);
    }

    public void AddFlags(uint bits)
    {
        byte[] value = new byte[4];
        BinaryPrimitives.WriteUInt32LittleEndian(value, Flags | bits);
        Set(AvId.Flags, value);
    }

    /// <summary>Writes the list with its end mark.</summary>
    public byte[] ToBytes()
    {
        byte[] bytes = new byte[_pairs.Sum(pair => HeaderSize + pair.Value.Length) + HeaderSize];
        int position = 0;
        foreach ((AvId id, byte[] value) in _pairs)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(position), (ushort)id);
            BinaryPrimitives.WriteUInt16LittleEndian(
                bytes.AsSpan(position + 2), checked((ushort)value.Length));
            value.CopyTo(bytes, position + HeaderSize);
            position += HeaderSize + value.Length;
        }

        return bytes;
    }
}

/// <summary>The kinds of AV pairs ([MS-NLMP] section 2.2.2.1).</summary>
internal enum AvId : ushort
{
    EndOfList = 0,
    ComputerName = 1,
    DomainName = 2,
    Flags = 6,
    Timestamp = 7,
    TargetName = 9,
    ChannelBindings = 10,
}

/// <summary>The times of NTLM: 100 nanoseconds since 1601, of which a peer can send any 64 bits.</summary>
internal static class NtlmTime
{
    private static readonly long Latest = DateTimeOffset.MaxValue.ToFileTime();

    public static DateTimeOffset ToDateTime(long time) =>
        DateTimeOffset.FromFileTime(Math.Clamp(time, 0, Latest));

    public static long FromDateTime(DateTimeOffset time) => time.ToFileTime();
}
