using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The protocol of a server, by its first bytes.</summary>
internal enum PeerGreeting
{
    /// <summary>The frame that every HTTP/2 server sends first.</summary>
    Http2,

    /// <summary>A GOAWAY frame that requires HTTP/1.1: Kestrel's reply on an HTTP/1.1 port.</summary>
    Http1Required,

    /// <summary>A TLS record.</summary>
    Tls,

    /// <summary>An HTTP/1 reply.</summary>
    Http1,

    /// <summary>None of the above.</summary>
    Unknown,
}

/// <summary>Finds the protocol of a server by its first bytes.</summary>
internal static class PeerGreetings
{
    /// <summary>The maximum number of bytes of a first line to read.</summary>
    public const int MaxLine = 80;

    // RFC 9113, sections 6.8 and 7.
    private const int FrameTypeOffset = 3;
    private const int GoAwayCodeOffset = 13;
    private const byte GoAway = 0x7;
    private const byte Http11Required = 0xd;

    private const byte TlsAlert = 0x15;
    private const byte TlsHandshake = 0x16;

    /// <summary>Recognizes the protocol by the first octet, which is always present, and by further octets if
    /// there are any.</summary>
    public static PeerGreeting Judge(ReadOnlySpan<byte> first) => first[0] switch
    {
        0 when first.Length >= GoAwayCodeOffset + sizeof(int) && first[FrameTypeOffset] == GoAway
            && BinaryPrimitives.ReadInt32BigEndian(first[GoAwayCodeOffset..]) == Http11Required =>
            PeerGreeting.Http1Required,

        // A SETTINGS frame is shorter than 64 KiB, so its length starts with a zero.
        0 => PeerGreeting.Http2,
        TlsAlert or TlsHandshake => PeerGreeting.Tls,
        (byte)'H' => PeerGreeting.Http1,
        _ => PeerGreeting.Unknown,
    };

    /// <summary>Whether more bytes are needed to recognize the protocol: the code of a GOAWAY frame, or the
    /// first line of an HTTP/1 reply.</summary>
    public static bool GoesOn(ReadOnlySpan<byte> first) => first[0] switch
    {
        0 when first.Length <= FrameTypeOffset => true,
        0 => first[FrameTypeOffset] == GoAway && first.Length < GoAwayCodeOffset + sizeof(int),
        (byte)'H' => first.Length < MaxLine && !first.Contains((byte)'\n'),
        _ => false,
    };

    /// <summary>The first line of an HTTP/1 reply, printable and limited in length.</summary>
    public static string FirstLine(ReadOnlySpan<byte> bytes)
    {
        string text = Encoding.Latin1.GetString(bytes[..Math.Min(bytes.Length, MaxLine)]);
        int end = text.AsSpan().IndexOfAnyExceptInRange(' ', '~');
        return end < 0 ? text : text[..end];
    }
}
