using System.IO.Compression;

namespace ProtoRpc.Protocols.Http;

/// <summary>Decompresses a body, and rejects one that ends before its end mark or checksum.</summary>
/// <remarks>The streams of .NET accept an incomplete body, unless the process sets a switch for all its code
/// (System.IO.Compression.UseStrictValidation).</remarks>
internal sealed class Decompression : SequentialStream
{
    private readonly Source _source;
    private readonly Stream _decoder;
    private ReadLease _lease;

    private Decompression(Source source, Stream decoder) => (_source, _decoder) = (source, decoder);

    public override bool CanRead => true;

    /// <summary>Opens the decompressed body; null for an unknown encoding.</summary>
    /// <param name="body">The compressed bytes.</param>
    /// <param name="encoding">The name in Content-Encoding.</param>
    public static Decompression? TryOpen(Stream body, string encoding) =>
        ContentEncoding.Find(encoding) is { } known ? Open(body, known) : null;

    /// <summary>Opens the decompressed body.</summary>
    /// <param name="body">The compressed bytes.</param>
    /// <param name="encoding">The encoding.</param>
    public static Decompression Open(Stream body, ContentEncoding encoding)
    {
        Source source = new(body, encoding.ProbesEnd);
        return new Decompression(source, encoding.Decompress(source));
    }

    /// <inheritdoc/>
    /// <exception cref="InvalidDataException">The bytes are invalid or incomplete.</exception>
    public override int Read(Span<byte> buffer)
    {
        ObjectDisposedException.ThrowIf(!_lease.TryBegin(), this);
        try
        {
            return Checked(_decoder.Read(buffer), buffer.Length);
        }
        catch (InvalidOperationException e) when (e is not ObjectDisposedException)
        {
            throw Bad(e);
        }
        finally
        {
            EndRead();
        }
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    /// <inheritdoc cref="Read(Span{byte})"/>
    public override async ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(!_lease.TryBegin(), this);
        try
        {
            return Checked(
                await _decoder.ReadAsync(buffer, cancellationToken).ConfigureAwait(false), buffer.Length);
        }
        catch (InvalidOperationException e) when (e is not ObjectDisposedException)
        {
            throw Bad(e);
        }
        finally
        {
            EndRead();
        }
    }

    public override Task<int> ReadAsync(
        byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            // The source is disposed first, because this ends a read of another thread.
            _source.Dispose();
            if (_lease.Close())
            {
                _decoder.Dispose();
            }
        }

        base.Dispose(disposing);
    }

    private void EndRead()
    {
        if (_lease.End())
        {
            _decoder.Dispose();
        }
    }

    // The decoder reads no more bytes after the end mark, so a read at the end of the source means that the
    // mark is missing. An empty source is an empty body.
    private int Checked(int count, int wanted) => count > 0 || wanted == 0 || !_source.WasEmptied
        ? count
        : throw new InvalidDataException("The data ends before its end mark or checksum.");

    private static InvalidDataException Bad(Exception why) => new(why.Message, why);

    /// <summary>The compressed bytes. Records whether the decoder reads past their end.</summary>
    /// <param name="body">The bytes.</param>
    /// <param name="probesEnd">Whether the decoder reads on after an end mark, as that of gzip does to find
    /// another member. A byte that begins no member then ends the decoder; without an end mark, the decoder
    /// reads on.</param>
    private sealed class Source(Stream body, bool probesEnd) : SequentialStream
    {
        private const byte NoMember = 0;

        private bool _hadBytes;
        private bool _hasProbed;

        public bool WasEmptied { get; private set; }

        public override bool CanRead => true;

        public override int Read(Span<byte> buffer) => Counted(body.Read(buffer), buffer);

        public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            Counted(await body.ReadAsync(buffer, cancellationToken).ConfigureAwait(false), buffer.Span);

        public override Task<int> ReadAsync(
            byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
            ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

        protected override void Dispose(bool disposing)
        {
            if (disposing)
            {
                body.Dispose();
            }

            base.Dispose(disposing);
        }

        private int Counted(int count, Span<byte> buffer)
        {
            _hadBytes |= count > 0;
            if (count > 0 || buffer.IsEmpty || !_hadBytes)
            {
                return count;
            }

            if (probesEnd && !_hasProbed)
            {
                _hasProbed = true;
                buffer[0] = NoMember;
                return 1;
            }

            WasEmptied = true;
            return 0;
        }
    }
}

/// <summary>Tests with its first block whether a body is worth compressing. Random, encrypted and compressed
/// bytes are not.</summary>
internal static class CompressionProbe
{
    private const int BlockSize = 4 * 1024;

    // Saving less than an eighth is not worth the time of both sides.
    private const int SavedShare = 8;

    // Quality 1 is CompressionLevel.Fastest; the window has the size of the block.
    private const int FastestQuality = 1;
    private const int WindowBits = 12;

    /// <summary>Whether the first block shrinks.</summary>
    public static bool Shrinks(ReadOnlySpan<byte> body)
    {
        ReadOnlySpan<byte> block = body[..Math.Min(body.Length, BlockSize)];
        int enough = block.Length - (block.Length / SavedShare);
        byte[] target = ArrayPool<byte>.Shared.Rent(BlockSize);
        bool shrinks = BrotliEncoder.TryCompress(
            block, target.AsSpan(0, enough), out _, FastestQuality, WindowBits);
        ArrayPool<byte>.Shared.Return(target);
        return shrinks;
    }
}
