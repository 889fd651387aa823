using System.Buffers.Text;
using System.Runtime.CompilerServices;
using System.Text.Encodings.Web;

namespace ProtoRpc.Formats.Json;

/// <summary>Writes the tokens of JSON as UTF-8. The caller writes them in an order that is JSON: nothing
/// checks that again.</summary>
/// <remarks>The bytes are those of Utf8JsonWriter with the same encoder, which is slower: it checks its
/// options and its state for each token.</remarks>
/// <param name="output">Gets the bytes.</param>
/// <param name="isIndented">Whether to write line breaks and indentation.</param>
internal sealed class JsonTextWriter(IBufferWriter<byte> output, bool isIndented) : IDisposable
{
    // The space for the longest number. It also suffices for the characters around a value, except the
    // indentation.
    private const int MaxNumberLength = 128;
    private const int MaxBytesOfChar = 3;
    private const int BlockSize = 4 * 1024;
    private const int ChunkLength = 512;
    private const int IndentSize = 2;

    // The characters that need no escape: printable ASCII without quote and backslash.
    private static readonly SearchValues<char> Plain = SearchValues.Create(
        [.. Enumerable.Range(' ', '~' - ' ' + 1).Select(c => (char)c).Except(['"', '\\'])]);

    // The relaxed encoder only leaves characters unescaped that are harmless outside HTML.
    private static readonly JavaScriptEncoder Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(BlockSize);
    private int _count;
    private int _depth;
    private bool _hasValue;
    private bool _isAfterName;

    /// <summary>Gives the output all that was written.</summary>
    public void Flush()
    {
        output.Write(_bytes.AsSpan(0, _count));
        _count = 0;
    }

    public void Dispose()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    public void WriteStart(byte bracket)
    {
        BeginValue(1);
        _bytes[_count++] = bracket;
        _depth++;
        _hasValue = false;
    }

    public void WriteEnd(byte bracket)
    {
        _depth--;
        Reserve(1);
        if (isIndented && _hasValue)
        {
            WriteLine();
        }

        _bytes[_count++] = bracket;
        _hasValue = true;
    }

    /// <summary>Writes a name that was encoded before, with its quotes and the colon.</summary>
    public void WriteName(ReadOnlySpan<byte> quoted)
    {
        BeginValue(quoted.Length + 1);
        quoted.CopyTo(_bytes.AsSpan(_count));
        _count += quoted.Length;
        EndName();
    }

    public void WriteName(string name)
    {
        BeginValue(0);
        WriteQuoted(name);
        Reserve(2);
        _bytes[_count++] = (byte)':';
        EndName();
    }

    public void WriteString(string value)
    {
        BeginValue(0);
        WriteQuoted(value);
        _hasValue = true;
    }

    public void WriteBase64(ReadOnlySpan<byte> bytes)
    {
        BeginValue(Base64.GetMaxEncodedToUtf8Length(bytes.Length) + 2);
        _bytes[_count++] = (byte)'"';
        Base64.EncodeToUtf8(bytes, _bytes.AsSpan(_count), out _, out int written);
        _count += written;
        _bytes[_count++] = (byte)'"';
        _hasValue = true;
    }

    public void WriteNumber<T>(T value)
        where T : IUtf8SpanFormattable
    {
        BeginValue(MaxNumberLength);
        value.TryFormat(_bytes.AsSpan(_count), out int length, default, CultureInfo.InvariantCulture);
        _count += length;
        _hasValue = true;
    }

    /// <summary>Writes a number as a string, for readers to which all numbers are doubles.</summary>
    public void WriteQuotedNumber<T>(T value)
        where T : IUtf8SpanFormattable
    {
        BeginValue(MaxNumberLength);
        _bytes[_count++] = (byte)'"';
        value.TryFormat(_bytes.AsSpan(_count), out int length, default, CultureInfo.InvariantCulture);
        _count += length;
        _bytes[_count++] = (byte)'"';
        _hasValue = true;
    }

    /// <summary>Writes a value without escaping.</summary>
    public void WriteRaw(ReadOnlySpan<byte> value)
    {
        BeginValue(value.Length);
        value.CopyTo(_bytes.AsSpan(_count));
        _count += value.Length;
        _hasValue = true;
    }

    // Writes the characters before a name or a value, and reserves memory for it.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void BeginValue(int length)
    {
        Reserve(length + 2);
        if (_isAfterName)
        {
            _isAfterName = false;
            return;
        }

        if (_hasValue)
        {
            _bytes[_count++] = (byte)',';
        }

        if (isIndented && _depth > 0)
        {
            WriteLine();
            Reserve(length + 1);
        }
    }

    private void EndName()
    {
        if (isIndented)
        {
            Reserve(1);
            _bytes[_count++] = (byte)' ';
        }

        _isAfterName = true;
        _hasValue = false;
    }

    private void WriteLine()
    {
        int length = (IndentSize * _depth) + 1;
        Reserve(length + 1);
        _bytes[_count++] = (byte)'\n';
        _bytes.AsSpan(_count, length - 1).Fill((byte)' ');
        _count += length - 1;
    }

    private void WriteQuoted(ReadOnlySpan<char> text)
    {
        if (text.Length <= ChunkLength && !text.ContainsAnyExcept(Plain))
        {
            Reserve(text.Length + 2);
            _bytes[_count++] = (byte)'"';
            Ascii.FromUtf16(text, _bytes.AsSpan(_count), out int written);
            _count += written;
            _bytes[_count++] = (byte)'"';
            return;
        }

        WriteEscaped(text);
    }

    // Long text is written in pieces: reserving three bytes for each character of the whole text would waste
    // memory.
    private void WriteEscaped(ReadOnlySpan<char> text)
    {
        Span<char> escaped = stackalloc char[ChunkLength];
        Reserve(1);
        _bytes[_count++] = (byte)'"';
        while (text.Length > 0)
        {
            Encoder.Encode(text, escaped, out int consumed, out int written, isFinalBlock: true);
            text = text[consumed..];
            Reserve((written * MaxBytesOfChar) + 1);
            _count += Encoding.UTF8.GetBytes(escaped[..written], _bytes.AsSpan(_count));
        }

        Reserve(1);
        _bytes[_count++] = (byte)'"';
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Reserve(int length)
    {
        if (_bytes.Length - _count < length)
        {
            Grow(length);
        }
    }

    private void Grow(int length)
    {
        Flush();
        if (_bytes.Length < length)
        {
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = [];
            _bytes = ArrayPool<byte>.Shared.Rent(length);
        }
    }
}
