using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Security.Ntlm;

/// <summary>A list of attributes and values, as challenge and response
/// carry it ([MS-NLMP] section 2.2.2.1).</summary>
internal sealed class AvPairs
{
    /// <summary>In <see cref="AvId.Flags"/>: the AUTHENTICATE message has an integrity code.</summary>
    public const uint HasMic = 0x2;

    private const int HeaderSize = 4;
    private readonly List<(AvId Id, byte[] Value)> _pairs = [];

    /// <summary>When the peer said it is, where it did.</summary>
    public DateTimeOffset? Timestamp => Find(AvId.Timestamp) is { Length: 8 } value
        ? NtlmTime.ToDateTime(BinaryPrimitives.ReadInt64LittleEndian(value))
        : null;

    /// <summary>The flags, 0 for none.</summary>
    public uint Flags =>
        Find(AvId.Flags) is { Length: 4 } value ? BinaryPrimitives.ReadUInt32LittleEndian(value) : 0;

    /// <summary>Reads a list up to its end mark; what follows that is not looked at.</summary>
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

    /// <summary>Adds a value, in place of those of its kind.</summary>
    public void Set(AvId id, byte[] value)
    {
        _pairs.RemoveAll(pair => pair.Id == id);
        _pairs.Add((id, value));
    }

    /// <summary>Adds text.</summary>
    public void Set(AvId id, string text) => Set(id, Encoding.Unicode.GetBytes(text));

    /// <summary>Adds a time.</summary>
    public void Set(AvId id, DateTimeOffset time)
    {
        byte[] value = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(value, NtlmTime.FromDateTime(time));
        Set(id, value);
    }

    /// <summary>Sets bits of the flags.</summary>
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
