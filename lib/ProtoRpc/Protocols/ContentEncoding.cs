using System.IO.Compression;

namespace ProtoRpc.Protocols;

/// <summary>An encoding of HTTP bodies (RFC 9110, 8.4.1) and of gRPC messages. Clients and servers of HTTP,
/// Connect and gRPC read this table, so a further encoding is one more row.</summary>
/// <param name="Name">The name in headers.</param>
/// <param name="Compression">The setting that selects it for sending; null if it is only read.</param>
/// <param name="Compress">Opens a stream that compresses. It leaves the other stream open.</param>
/// <param name="Decompress">Opens a stream that decompresses.</param>
internal sealed record ContentEncoding(
    string Name, RpcCompression? Compression, Func<Stream, Stream> Compress,
    Func<Stream, Stream> Decompress)
{
    /// <summary>gzip (RFC 1952).</summary>
    public static readonly ContentEncoding Gzip = new(
        "gzip",
        RpcCompression.Gzip,
        target => new GZipStream(target, CompressionLevel.Fastest, leaveOpen: true),
        source => new GZipStream(source, CompressionMode.Decompress))
    {
        OldName = "x-gzip",
        ProbesEnd = true,
        IsSentByGrpc = true,
    };

    /// <summary>deflate, which is the zlib format (RFC 1950).</summary>
    public static readonly ContentEncoding Deflate = new(
        "deflate",
        Compression: null,
        target => new ZLibStream(target, CompressionLevel.Fastest, leaveOpen: true),
        source => new ZLibStream(source, CompressionMode.Decompress));

    /// <summary>Brotli (RFC 7932).</summary>
    public static readonly ContentEncoding Brotli = new(
        "br",
        RpcCompression.Brotli,
        target => new BrotliStream(target, CompressionLevel.Fastest, leaveOpen: true),
        source => new BrotliStream(source, CompressionMode.Decompress));

    /// <summary>All encodings, in the order of Accept-Encoding.</summary>
    public static IReadOnlyList<ContentEncoding> All { get; } = [Gzip, Deflate, Brotli];

    /// <summary>The encodings of replies over HTTP. If a client accepts several equally, the first one is
    /// used.</summary>
    public static IReadOnlyList<ContentEncoding> OfReplies { get; } = [Brotli, Gzip];

    /// <summary>The names of all encodings, for Accept-Encoding.</summary>
    public static string Accepted { get; } = string.Join(", ", All.Select(encoding => encoding.Name));

    /// <summary>The name that older programs use; null for none.</summary>
    public string? OldName { get; private init; }

    /// <summary>Whether the decompressing stream reads on after the end mark, because further parts can
    /// follow.</summary>
    public bool ProbesEnd { get; private init; }

    /// <summary>Whether gRPC sends messages in this encoding: other gRPC implementations must support
    /// it.</summary>
    public bool IsSentByGrpc { get; private init; }

    /// <summary>Finds an encoding by its name, whose case does not matter.</summary>
    /// <returns>Null for an unknown encoding.</returns>
    public static ContentEncoding? Find(string? name) => All.FirstOrDefault(
        encoding => encoding.IsNamed(name));

    /// <summary>Whether a name is that of this encoding. Its case does not matter.</summary>
    public bool IsNamed(string? name) => Name.Equals(name, StringComparison.OrdinalIgnoreCase)
        || (OldName is { } old && old.Equals(name, StringComparison.OrdinalIgnoreCase));

    /// <summary>The encoding that a client or a handler selects; null for none.</summary>
    public static ContentEncoding? Get(RpcCompression compression) =>
        compression == RpcCompression.None ? null : Find(compression);

    // A separate method: most calls are not compressed, and this one allocates a closure.
    private static ContentEncoding? Find(RpcCompression compression) =>
        All.FirstOrDefault(encoding => encoding.Compression == compression);

    /// <summary>Compresses bytes.</summary>
    public byte[] Encode(ReadOnlySpan<byte> body)
    {
        using MemoryStream target = new();
        using (Stream stream = Compress(target))
        {
            stream.Write(body);
        }

        return target.ToArray();
    }
}
