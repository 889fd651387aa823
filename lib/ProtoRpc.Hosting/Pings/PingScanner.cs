using System.Buffers;

namespace ProtoRpc.Hosting.Pings;

/// <summary>Finds the PING frames (RFC 9113 section 6.7) in the bytes of an HTTP/2 client. Other protocols
/// are recognized by their first bytes, and then not examined.</summary>
internal sealed class PingScanner(Action found)
{
    private const int HeaderLength = 9;
    private const int TypeOffset = 3;
    private const int FlagsOffset = 4;
    private const byte Ping = 6;
    private const byte Ack = 1;

    private readonly byte[] _header = new byte[HeaderLength];
    private int _inPreface;
    private int _inHeader;
    private int _payload;
    private bool _isOther;

    private static ReadOnlySpan<byte> Preface => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Goes on where it stopped before.</summary>
    public void Scan(in ReadOnlySequence<byte> bytes)
    {
        foreach (ReadOnlyMemory<byte> part in bytes)
        {
            Scan(part.Span);
        }
    }

    private void Scan(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty && !_isOther)
        {
            if (_inPreface < Preface.Length)
            {
                int count = Math.Min(bytes.Length, Preface.Length - _inPreface);
                _isOther = !bytes[..count].SequenceEqual(Preface.Slice(_inPreface, count));
                _inPreface += count;
                bytes = bytes[count..];
            }
            else if (_payload > 0)
            {
                int count = Math.Min(bytes.Length, _payload);
                _payload -= count;
                bytes = bytes[count..];
            }
            else
            {
                int count = Math.Min(bytes.Length, HeaderLength - _inHeader);
                bytes[..count].CopyTo(_header.AsSpan(_inHeader));
                _inHeader += count;
                bytes = bytes[count..];
                if (_inHeader == HeaderLength)
                {
                    Take();
                }
            }
        }
    }

    private void Take()
    {
        _inHeader = 0;
        _payload = (_header[0] << 16) | (_header[1] << 8) | _header[2];
        if (_header[TypeOffset] == Ping && (_header[FlagsOffset] & Ack) == 0)
        {
            found();
        }
    }
}
