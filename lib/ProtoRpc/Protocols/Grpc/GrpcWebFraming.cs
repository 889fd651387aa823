using System.Buffers.Text;
using System.Net.Http.Headers;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The forms of gRPC-Web: frames in binary or in base64, and trailers in the last frame of a
/// reply.</summary>
internal static class GrpcWebFraming
{
    /// <summary>The media type of the binary form.</summary>
    public const string Binary = "application/grpc-web";

    /// <summary>The media type of the text form.</summary>
    public const string Text = "application/grpc-web-text";

    /// <summary>The suffix of the media types for Protocol Buffers messages.</summary>
    public const string Proto = "+proto";

    /// <summary>The form that a media type names; null for another media type.</summary>
    /// <param name="contentType">The media type, with or without parameters.</param>
    public static string? TypeOf(string? contentType)
    {
        string type = (contentType ?? "").Split(';')[0].Trim().ToLowerInvariant();
        return type is Binary or $"{Binary}{Proto}" ? Binary
            : type is Text or $"{Text}{Proto}" ? Text
            : null;
    }

    /// <summary>Reads the lines of the last frame as trailers. Malformed lines are omitted.</summary>
    public static void ReadTrailers(ReadOnlySpan<byte> body, HttpHeaders trailers)
    {
        foreach (string line in Encoding.Latin1.GetString(body).Split('\n'))
        {
            int colon = line.IndexOf(':');
            if (colon > 0)
            {
                trailers.TryAddWithoutValidation(line[..colon].Trim(), line[(colon + 1)..].Trim());
            }
        }
    }
}

/// <summary>Decodes the body of a reply in base64. Each piece of the body may have its own padding.</summary>
/// <param name="text">The body.</param>
internal sealed class GrpcWebTextStream(Stream text) : SequentialStream
{
    private const int Quantum = 4;

    private static readonly SearchValues<byte> WhiteSpace = SearchValues.Create(" \t\r\n"u8);

    private readonly byte[] _text = new byte[4096];
    private readonly byte[] _bytes = new byte[3072];
    private int _length;
    private int _start;
    private int _end;

    public override bool CanRead => true;

    public override int Read(byte[] buffer, int offset, int count) =>
        throw new NotSupportedException("Replies of gRPC-Web are read asynchronously.");

    public override Task<int> ReadAsync(
        byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    /// <exception cref="RpcException">Internal: the body is not base64.</exception>
    public override async ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        while (_start == _end)
        {
            int count = await text.ReadAsync(_text.AsMemory(_length), cancellationToken)
                .ConfigureAwait(false);
            if (count == 0)
            {
                return _length == 0 ? 0 : throw NotBase64();
            }

            _length += count;
            Decode();
        }

        int taken = Math.Min(buffer.Length, _end - _start);
        _bytes.AsMemory(_start, taken).CopyTo(buffer);
        _start += taken;
        return taken;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            text.Dispose();
        }

        base.Dispose(disposing);
    }

    // A piece with padding ends in its last quantum of four characters, so the text is decoded up to there.
    // An incomplete quantum stays in the buffer.
    private void Decode()
    {
        int read = 0;
        (_start, _end) = (0, 0);
        while (_length - read >= Quantum)
        {
            ReadOnlySpan<byte> left = _text.AsSpan(read, (_length - read) / Quantum * Quantum);
            int padding = left.IndexOf((byte)'=');
            left = padding < 0 ? left : left[..(((padding / Quantum) + 1) * Quantum)];

            // .NET's decoder skips white space, which would move the border of a quantum, and so the end of a
            // piece.
            if (left.ContainsAny(WhiteSpace)
                || Base64.DecodeFromUtf8(left, _bytes.AsSpan(_end), out int consumed, out int written)
                    != OperationStatus.Done || consumed != left.Length)
            {
                throw NotBase64();
            }

            read += left.Length;
            _end += written;
        }

        _text.AsSpan(read, _length - read).CopyTo(_text);
        _length -= read;
    }

    private static RpcException NotBase64() =>
        GrpcDefects.BadFrame("the body is not base64, although its media type says so");
}
