namespace ProtoRpc.Formats.Sequences;

/// <summary>Reads messages that stand one after the other in a stream, each as soon as its last byte has
/// come.</summary>
/// <remarks>JSON values follow each other; text and XML are split at the record separator (0x1E); binary
/// messages have their lengths before them, or the whole stream is one.</remarks>
/// <param name="input">The stream, which stays open.</param>
/// <param name="format">The format of the messages.</param>
/// <param name="type">Their type.</param>
/// <param name="options">How they are read.</param>
/// <param name="isSequence">Whether binary messages have their lengths before them.</param>
internal sealed class MessageSequenceReader(
    Stream input, MessageFormat format, RpcMessageInfo type, FormatOptions options, bool isSequence)
{
    /// <summary>The bytes that one message may have.</summary>
    public const int MaxMessageBytes = 256 * 1024 * 1024;

    private const int FirstSize = 16 * 1024;

    private readonly MessageSplitter _splitter = format switch
    {
        _ when format == MessageFormats.Json => new JsonSplitter(),
        { IsText: true } => new SeparatedSplitter(),
        _ => isSequence ? new DelimitedSplitter() : new WholeSplitter(),
    };

    private byte[] _buffer = new byte[FirstSize];
    private int _start;
    private int _end;
    private bool _isEnd;
    private bool _hasBegun;
    private TextOrigin _origin;

    private static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    private ReadOnlySpan<byte> Waiting => _buffer.AsSpan(_start, _end - _start);

    /// <summary>The next message; null at the end of the stream.</summary>
    /// <exception cref="RpcException">InvalidArgument: not a message of this type in this format, with the
    /// line and column in the stream; ResourceExhausted: it is too long.</exception>
    public async ValueTask<DynamicMessage?> ReadAsync(CancellationToken cancellation)
    {
        FoundMessage found;
        while (!_splitter.TryFind(Waiting, _isEnd, out found))
        {
            if (_isEnd)
            {
                return null;
            }

            await FillAsync(cancellation).ConfigureAwait(false);
        }

        return Take(found);
    }

    private DynamicMessage Take(FoundMessage found)
    {
        TextOrigin start = _splitter.HasLines ? _origin.Behind(Waiting[..found.Start]) : default;
        if (_splitter.HasLines)
        {
            _origin = start.Behind(Waiting[found.Start..found.Taken]);
        }

        ReadOnlyMemory<byte> message = _buffer.AsMemory(_start + found.Start, found.Length);
        _start += found.Taken;
        return format.Read(type, message, options with { Origin = start });
    }

    private async ValueTask FillAsync(CancellationToken cancellation)
    {
        do
        {
            MakeRoom();
            int count = await input.ReadAsync(_buffer.AsMemory(_end), cancellation).ConfigureAwait(false);
            _isEnd = count == 0;
            _end += count;
        }
        while (!_hasBegun && !HasBegun());
    }

    // Editors of Windows write a byte order mark, which no format has.
    private bool HasBegun()
    {
        if (!_isEnd && Waiting.Length < ByteOrderMark.Length && ByteOrderMark.StartsWith(Waiting))
        {
            return false;
        }

        _start = format.IsText && Waiting.StartsWith(ByteOrderMark) ? ByteOrderMark.Length : 0;
        return _hasBegun = true;
    }

    private void MakeRoom()
    {
        if (_end < _buffer.Length)
        {
            return;
        }

        int length = _end - _start;
        if (length >= MaxMessageBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A message of the input has more than {MaxMessageBytes:N0} bytes, which is the most.")
            {
                ErrorId = RpcErrorIds.MessageTooLarge,
            };
        }

        byte[] old = _buffer;
        if (_start < _buffer.Length / 2)
        {
            _buffer = new byte[(int)Math.Min(2L * _buffer.Length, MaxMessageBytes)];
        }

        old.AsSpan(_start, length).CopyTo(_buffer);
        (_start, _end) = (0, length);
    }
}
