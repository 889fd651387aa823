using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>Reads and writes the headers of calls without metadata, or with only the header of the first
/// gateway, that do not fail: nearly all calls. They are processed in place, because header messages would
/// take most of the time of an empty call.</summary>
/// <remarks>The bytes are those of <see cref="NativeHeaders"/>. Headers with more fields, or another order of
/// fields, are not read here.</remarks>
internal static class PlainHeaders
{
    /// <summary>The length of the ids that ProtoRpc's clients send.</summary>
    public const int MessageIdBytes = 16;

    private const byte VersionTag = 0x08;
    private const byte MethodTag = 0x12;
    private const byte RequestIdTag = 0x1A;
    private const byte ContextTag = 0x2A;
    private const byte ResponseIdTag = 0x32;
    private const byte Version = 1;

    // Shorter lengths fit into one octet of a varint.
    private const int ShortLength = 0x80;
    private const int MaxVarint32Bytes = 5;

    /// <summary>The header that counts the gateways of a call.</summary>
    public const string Hops = "protorpc-hops";

    /// <summary>The length of an interface id.</summary>
    public const int InterfaceIdBytes = 16;

    // The header that the first gateway adds to a request without headers.
    private static readonly byte[] FirstHop = WriteFirstHop();

    private static readonly byte[] TimeoutTag =
        Varint(ProtorpcTransportExtensions.TimeoutMs.FieldNumber << 3);

    private static readonly byte[] InterfaceTag =
        [.. Varint((ProtorpcTransportExtensions.InterfaceId.FieldNumber << 3) | 2), InterfaceIdBytes];

    /// <summary>Writes the header of a request.</summary>
    /// <param name="output">Receives the header.</param>
    /// <param name="method">The bare name of the method.</param>
    /// <param name="id">The call's id, of <see cref="MessageIdBytes"/>.</param>
    /// <param name="timeout">The time that the caller waits, in milliseconds; null for no limit.</param>
    /// <param name="isFirstHop">Whether the first gateway forwards the request, so that its only header is
    /// the number of gateways.</param>
    /// <param name="interfaceId">The id of the interface, of <see cref="InterfaceIdBytes"/>; empty for
    /// none.</param>
    /// <returns>False if the name of the method is long or not ASCII; then nothing is written.</returns>
    public static bool TryWriteRequest(
        IBufferWriter<byte> output, string method, ReadOnlySpan<byte> id, uint? timeout,
        bool isFirstHop = false, ReadOnlySpan<byte> interfaceId = default)
    {
        int maxOther = 2 + 2 + 2 + MessageIdBytes + 2 + 2 * MaxVarint32Bytes
            + (isFirstHop ? FirstHop.Length : 0)
            + (interfaceId.IsEmpty ? 0 : InterfaceTag.Length + InterfaceIdBytes);
        if (method.Length > ShortLength - maxOther || !Ascii.IsValid(method))
        {
            return false;
        }

        Span<byte> span = output.GetSpan(1 + method.Length + maxOther);
        int position = 1;
        span[position++] = VersionTag;
        span[position++] = Version;
        span[position++] = MethodTag;
        span[position++] = (byte)method.Length;
        Ascii.FromUtf16(method, span[position..], out int written);
        position += written;
        span[position++] = RequestIdTag;
        span[position++] = MessageIdBytes;
        id.CopyTo(span[position..]);
        position += MessageIdBytes;
        span[position++] = ContextTag;
        span[position++] = 0;
        if (timeout is { } milliseconds)
        {
            TimeoutTag.CopyTo(span[position..]);
            position += TimeoutTag.Length;
            position += WriteVarint(span[position..], milliseconds);
        }

        if (isFirstHop)
        {
            FirstHop.CopyTo(span[position..]);
            position += FirstHop.Length;
        }

        if (!interfaceId.IsEmpty)
        {
            InterfaceTag.CopyTo(span[position..]);
            position += InterfaceTag.Length;
            interfaceId.CopyTo(span[position..]);
            position += interfaceId.Length;
        }

        span[0] = (byte)(position - 1);
        output.Advance(position);
        return true;
    }

    /// <summary>Reads the header of a request.</summary>
    /// <returns>False for a header with other fields, or an invalid one.</returns>
    public static bool TryReadRequest(ReadOnlySpan<byte> payload, out PlainRequest request)
    {
        request = default;
        if (payload.IsEmpty || payload[0] >= ShortLength || payload[0] >= payload.Length)
        {
            return false;
        }

        int end = 1 + payload[0];
        ReadOnlySpan<byte> header = payload[..end];
        int position = 1;
        if (Has(header, position, VersionTag)
            && !TryReadVarint(header, ++position, out _, out position))
        {
            return false;
        }

        if (!TryReadBytes(header, position, MethodTag, out Range method, out position)
            || !TryReadBytes(header, position, RequestIdTag, out Range id, out position))
        {
            return false;
        }

        bool hasContext = Has(header, position, ContextTag);
        if (hasContext)
        {
            // A context with content needs the parser of the whole header.
            if (!Has(header, position + 1, 0))
            {
                return false;
            }

            position += 2;
        }

        uint? timeout = null;
        if (header[position..].StartsWith(TimeoutTag))
        {
            if (!TryReadVarint(header, position + TimeoutTag.Length, out uint milliseconds, out position))
            {
                return false;
            }

            timeout = milliseconds;
        }

        bool isFirstHop = header[position..].StartsWith(FirstHop);
        position += isFirstHop ? FirstHop.Length : 0;
        Range interfaceId = default;
        if (header[position..].StartsWith(InterfaceTag))
        {
            position += InterfaceTag.Length;
            interfaceId = position..(position += InterfaceIdBytes);
        }

        request = new PlainRequest(method, id, hasContext, timeout, isFirstHop, interfaceId, end);
        return position == end;
    }

    /// <summary>Writes the header of the reply to a call that succeeded.</summary>
    /// <param name="output">Receives the header.</param>
    /// <param name="id">The id of the request; shorter than 100 octets.</param>
    public static void WriteResponse(IBufferWriter<byte> output, ReadOnlySpan<byte> id)
    {
        int size = 2 + id.Length;
        Span<byte> span = output.GetSpan(1 + size);
        span[0] = (byte)size;
        span[1] = ResponseIdTag;
        span[2] = (byte)id.Length;
        id.CopyTo(span[3..]);
        output.Advance(1 + size);
    }

    /// <summary>Finds the body of a reply whose header only reports success.</summary>
    /// <param name="payload">Header and body.</param>
    /// <param name="id">The id of the request.</param>
    /// <param name="body">The body.</param>
    /// <returns>False for any other header, and for the id of another call.</returns>
    public static bool TryReadResponse(
        ReadOnlySpan<byte> payload, ReadOnlySpan<byte> id, out ReadOnlySpan<byte> body)
    {
        int size = 2 + id.Length;
        if (payload.Length > size && payload[0] == size && payload[1] == ResponseIdTag
            && payload[2] == id.Length && payload.Slice(3, id.Length).SequenceEqual(id))
        {
            body = payload[(1 + size)..];
            return true;
        }

        body = default;
        return false;
    }

    private static bool Has(ReadOnlySpan<byte> header, int position, byte octet) =>
        position < header.Length && header[position] == octet;

    // A plain header has a length of one octet, so the length of a field in it also has one octet.
    private static bool TryReadBytes(
        ReadOnlySpan<byte> header, int position, byte tag, out Range bytes, out int next)
    {
        bytes = default;
        next = position;
        if (!Has(header, position, tag) || position + 1 >= header.Length)
        {
            return false;
        }

        int start = position + 2;
        next = start + header[position + 1];
        bytes = start..next;
        return next <= header.Length;
    }

    private static bool TryReadVarint(ReadOnlySpan<byte> header, int position, out uint value, out int next)
    {
        value = 0;
        next = position;
        for (int i = 0; i < MaxVarint32Bytes && next < header.Length; i++)
        {
            byte octet = header[next++];
            value |= (uint)(octet & 0x7F) << (7 * i);
            if (octet < 0x80)
            {
                // The fifth octet holds four bits of the number. A larger number is left to the parser of the
                // whole header.
                return i < MaxVarint32Bytes - 1 || octet <= 0x0F;
            }
        }

        return false;
    }

    private static byte[] WriteFirstHop()
    {
        RpcRequestHeader header = new();
        header.SetExtension(
            ProtorpcTransportExtensions.RequestHeaders,
            new Metadata { Entries = { new Metadata.Types.Entry { Name = Hops, Text = "1" } } });
        return header.ToByteArray();
    }

    private static byte[] Varint(int value)
    {
        Span<byte> bytes = stackalloc byte[MaxVarint32Bytes];
        return bytes[..WriteVarint(bytes, (uint)value)].ToArray();
    }

    private static int WriteVarint(Span<byte> target, uint value)
    {
        int count = 0;
        while (value >= 0x80)
        {
            target[count++] = (byte)(value | 0x80);
            value >>= 7;
        }

        target[count++] = (byte)value;
        return count;
    }
}

/// <summary>The positions of the parts of a plain request in its payload.</summary>
/// <param name="Method">The method's name, in UTF-8.</param>
/// <param name="Id">The id, which the reply repeats.</param>
/// <param name="HasContext">Whether the caller sent an empty call context.</param>
/// <param name="Timeout">The time that the caller waits, in milliseconds; null for no limit.</param>
/// <param name="IsFirstHop">Whether its only header says that it has passed one gateway.</param>
/// <param name="Interface">The id of the interface that the caller intends to call; empty for none.</param>
/// <param name="BodyStart">Where the body begins.</param>
internal readonly record struct PlainRequest(
    Range Method, Range Id, bool HasContext, uint? Timeout, bool IsFirstHop, Range Interface, int BodyStart);
