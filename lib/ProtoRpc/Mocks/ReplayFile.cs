using System.Text;

namespace ProtoRpc.Mocks;

/// <summary>Reads files of recorded calls.</summary>
internal static class ReplayFile
{
    private const long MaxBytes = 256 * 1024 * 1024;

    /// <summary>The calls of a file, in its order; lines without text are passed over, and so are questions
    /// for the schema, the health and the ping of a server.</summary>
    /// <param name="path">The file.</param>
    /// <param name="methods">The methods that there are.</param>
    /// <exception cref="RpcException">It cannot be read, or a line is no recorded call: where, and
    /// why.</exception>
    public static IReadOnlyList<ReplayedCall> Read(string path, IReadOnlyList<RpcMethodInfo> methods)
    {
        byte[] content = ReadBytes(path);
        List<ReplayedCall> calls = [];
        int line = 0;
        for (int start = 0; start < content.Length;)
        {
            int length = content.AsSpan(start).IndexOf((byte)'\n');
            length = length < 0 ? content.Length - start : length;
            line++;
            ReadOnlyMemory<byte> text = content.AsMemory(start, length);
            if (text.Span.Trim(" \t\r"u8).Length > 0
                && new ReplayLine(path, line, text, methods).Read() is { } call)
            {
                calls.Add(call);
            }

            start += length + 1;
        }

        return calls;
    }

    private static byte[] ReadBytes(string path)
    {
        try
        {
            using FileStream file = File.OpenRead(path);
            if (file.Length > MaxBytes)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"'{path}' has {file.Length} bytes; a file to replay has {MaxBytes} at most. Keep the "
                    + "lines that the test needs.")
                {
                    ErrorId = RpcErrorIds.InvalidRecording,
                };
            }

            byte[] content = new byte[file.Length];
            int read = file.ReadAtLeast(content, content.Length, throwOnEndOfStream: false);
            content = content[..read];
            ReadOnlySpan<byte> mark = Encoding.UTF8.Preamble;
            return content.AsSpan().StartsWith(mark) ? content[mark.Length..] : content;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException)
        {
            throw new RpcException(
                e is FileNotFoundException or DirectoryNotFoundException
                    ? RpcStatusCode.NotFound
                    : RpcStatusCode.InvalidArgument,
                $"The recorded calls '{path}' cannot be read: {FileProblem.Of(e, path)}.", e)
            {
                ErrorId = RpcErrorIds.InvalidRecording,
            };
        }
    }
}
