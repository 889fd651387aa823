using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Security.Ntlm;

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

    /// <summary>Only sent: NTLMv2 is judged by <see cref="NtResponse"/> alone.</summary>
    public byte[] LmResponse { get; init; } = [];

    public required byte[] NtResponse { get; init; }

    /// <summary>The session key, encrypted; empty without key exchange.</summary>
    public required byte[] EncryptedSessionKey { get; init; }

    /// <summary>Reads the message.</summary>
    /// <returns>Null when it is no such message, or points outside of itself.</returns>
    public static AuthenticateMessage? Read(ReadOnlySpan<byte> message)
    {
        // Older clients have neither version nor integrity code.
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
