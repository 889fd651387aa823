namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Reads the lines that a program writes, each up to a limit.</summary>
/// <remarks>Keeps nothing but what is not read yet. One reads at a time.</remarks>
internal sealed class OutputLines(Stream stream, int maxBytes)
{
    private const int FirstBuffer = 4096;
    private byte[] _buffer = new byte[FirstBuffer];
    private int _start;
    private int _end;

    /// <summary>The next line without its end; null after the last. A last line needs no end.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the line is longer than the limit.</exception>
    public async Task<byte[]?> ReadLineAsync()
    {
        int looked = _start;
        while (true)
        {
            int at = _buffer.AsSpan(looked, _end - looked).IndexOf((byte)'\n');
            if (at >= 0)
            {
                return Take(looked + at, 1);
            }

            looked = _end;
            if (_end - _start > maxBytes)
            {
                throw TooLarge();
            }

            (int kept, int moved) = (_end - _start, _start);
            MakeRoom();
            looked -= moved - _start;
            if (await ReadAsync() == 0)
            {
                return kept == 0 ? null : Take(_end, 0);
            }
        }
    }

    /// <summary>All that is left.</summary>
    /// <exception cref="RpcException">ResourceExhausted: it is more than the limit.</exception>
    public async Task<byte[]> ReadAllAsync()
    {
        do
        {
            if (_end - _start > maxBytes)
            {
                throw TooLarge();
            }

            MakeRoom();
        }
        while (await ReadAsync() > 0);
        return Take(_end, 0);
    }

    private async Task<int> ReadAsync()
    {
        try
        {
            int count = await stream.ReadAsync(_buffer.AsMemory(_end));
            _end += count;
            return count;
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // A program that was ended.
            return 0;
        }
    }

    private byte[] Take(int end, int terminator)
    {
        byte[] line = _buffer.AsSpan(_start, end - _start).ToArray();
        _start = end + terminator;
        return line;
    }

    private void MakeRoom()
    {
        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            (_start, _end) = (0, _end - _start);
        }

        if (_end == _buffer.Length)
        {
            Array.Resize(ref _buffer, _buffer.Length * 2);
        }
    }

    private RpcException TooLarge() => new(
        RpcStatusCode.ResourceExhausted, $"The handler program wrote a reply of more than {maxBytes} bytes.");
}
