using System.Buffers;

namespace ProtoRpc.Formats.Sequences;

/// <summary>Splits JSON values that stand one after the other, with or without white space between them. It
/// only looks for brackets and quotes; the reader of a value reports what is wrong with it.</summary>
internal sealed class JsonSplitter : MessageSplitter
{
    private static readonly SearchValues<byte> Structure = SearchValues.Create("{}[]\""u8);
    private static readonly SearchValues<byte> InText = SearchValues.Create("\"\\"u8);
    private static readonly SearchValues<byte> ScalarEnd = SearchValues.Create(" \t\r\n{[\""u8);

    private int _position;
    private int _start = -1;
    private int _depth;
    private bool _isText;
    private bool _isScalar;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        bool isWhole = (_start >= 0 || TryStart(bytes)) && TryEnd(bytes);
        if (!isWhole && !(isEnd && _start >= 0))
        {
            found = default;
            return false;
        }

        // What has no end is left to the reader, which says so.
        int end = isWhole ? _position : bytes.Length;
        found = new FoundMessage(_start, end - _start, end);
        (_position, _start, _depth, _isText, _isScalar) = (0, -1, 0, false, false);
        return true;
    }

    private bool TryStart(ReadOnlySpan<byte> bytes)
    {
        int start = bytes[_position..].IndexOfAnyExcept(" \t\r\n"u8);
        if (start < 0)
        {
            _position = bytes.Length;
            return false;
        }

        _start = _position += start;
        _isScalar = !"{[\""u8.Contains(bytes[_start]);
        return true;
    }

    private bool TryEnd(ReadOnlySpan<byte> bytes)
    {
        if (_isScalar)
        {
            // Its first byte may be one that ends others.
            _position = Math.Max(_position, _start + 1);
            int end = bytes[_position..].IndexOfAny(ScalarEnd);
            _position = end < 0 ? bytes.Length : _position + end;
            return end >= 0;
        }

        while (_position < bytes.Length)
        {
            int next = bytes[_position..].IndexOfAny(_isText ? InText : Structure);
            if (next < 0)
            {
                _position = bytes.Length;
                return false;
            }

            _position += next;
            if (bytes[_position] == '\\')
            {
                // What it escapes must be there to be passed over.
                if (_position + 1 == bytes.Length)
                {
                    return false;
                }

                _position += 2;
                continue;
            }

            Step(bytes[_position++]);
            if (_depth <= 0 && !_isText)
            {
                return true;
            }
        }

        return false;
    }

    private void Step(byte character)
    {
        switch (character)
        {
            case (byte)'"':
                _isText = !_isText;
                break;
            case (byte)'{' or (byte)'[':
                _depth++;
                break;
            default:
                _depth--;
                break;
        }
    }
}
