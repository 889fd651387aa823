using System.IO.Compression;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources;

/// <summary>Files that are FileDescriptorSets: binary, as JSON or as text, also compressed with gzip. The
/// images of buf are such sets. The content decides, not the ending.</summary>
internal sealed class DescriptorSetSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } =
        [".pb", ".protoset", ".desc", ".binpb", ".bin", ".fds", ".txtpb", ".textproto", ".json", ".gz"];

    public override IReadOnlyList<string> SharedEndings { get; } = [".json", ".gz"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult<IReadOnlyList<SchemaPart>>(
        [
            .. locations.Select(file => Read(file, request.TextSets)),
        ]);

    /// <summary>A descriptor set as a part of a schema.</summary>
    /// <param name="bytes">The set, which is not copied.</param>
    /// <param name="origin">The source of the set, for errors.</param>
    /// <param name="path">The name of the part.</param>
    /// <param name="textSets">Converts sets that are JSON or text.</param>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a descriptor set.</exception>
    public static SchemaPart PartOf(byte[] bytes, string origin, string path, TextSetConverter? textSets)
    {
        IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(bytes, origin, textSets);
        return new SchemaPart(
            files, DescriptorLinker.FindRoots(files), [], Path.GetFileNameWithoutExtension(path));
    }

    private static SchemaPart Read(SourceFile file, TextSetConverter? textSets)
    {
        try
        {
            return PartOf(BytesOf(file), $"'{file.Given}'", file.FullPath, textSets) with
            {
                Paths = [file.FullPath],
            };
        }
        catch (RpcException e) when (file.IsMatched)
        {
            return SchemaPart.WithoutFiles([file], [SchemaPart.WarningOf(file, e.Message)], e);
        }
    }

    private static byte[] BytesOf(SourceFile file)
    {
        try
        {
            return File.ReadAllBytes(file.FullPath);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid(
                $"Cannot read '{file.Given}': {FileProblem.Describe(e, file.Given)}.", e);
        }
    }
}

/// <summary>Reads FileDescriptorSets.</summary>
internal static class DescriptorSetReader
{
    // For comparison: the image of all of googleapis has 30 MB.
    private const int MaxUnpackedBytes = 128 * 1024 * 1024;

    private const uint FileTag = (1 << 3) | (uint)WireFormat.WireType.LengthDelimited;

    /// <summary>The files of a set, in its order.</summary>
    /// <param name="bytes">The set, possibly compressed with gzip; not copied.</param>
    /// <param name="origin">The source of the set, for errors.</param>
    /// <param name="textSets">Converts sets that are JSON or text; null if they are not read.</param>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no set of files.</exception>
    public static IReadOnlyList<DescriptorFile> Read(
        byte[] bytes, string origin, TextSetConverter? textSets = null)
    {
        byte[] unpacked = Unpack(bytes, origin);
        try
        {
            return ReadBinary(unpacked, origin);
        }
        // A text is never a valid binary set: as a tag, its first letter begins a group without an end, or is
        // invalid.
        catch (RpcException) when (IsText(unpacked))
        {
            return textSets is null
                ? throw SchemaError.Invalid(
                    $"{origin} is a descriptor set in JSON or text. {nameof(RpcSchemaLoader)} reads it.")
                : ReadBinary(textSets(unpacked, origin), origin);
        }
    }

    /// <summary>Whether bytes look like a set in JSON or in the text format, whose only field is
    /// <c>file</c>.</summary>
    public static bool IsText(ReadOnlySpan<byte> bytes) =>
        IsJson(bytes) || StartOf(bytes).StartsWith("file"u8);

    /// <summary>Whether bytes look like a set in JSON.</summary>
    public static bool IsJson(ReadOnlySpan<byte> bytes) => StartOf(bytes) is [(byte)'{', ..];

    private static List<DescriptorFile> ReadBinary(byte[] bytes, string origin)
    {
        List<DescriptorFile> files = [];
        try
        {
            using CodedInputStream input = new(bytes);
            for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
            {
                if (tag == FileTag)
                {
                    files.Add(DescriptorFile.Parse(input.ReadBytes(), origin));
                }
                else
                {
                    input.SkipLastField();
                }
            }
        }
        catch (InvalidProtocolBufferException e)
        {
            throw SchemaError.Invalid(
                $"Cannot read {origin}: it is not a serialized FileDescriptorSet, or it is cut off "
                + $"({e.Message}) "
                + "Make a descriptor set with 'protoc --include_imports --descriptor_set_out=FILE'.", e);
        }

        return files.Count > 0
            ? files
            : throw SchemaError.Invalid($"Cannot use {origin}: it contains no file.");
    }

    // Skips a byte order mark, white space, and comments of the text format.
    private static ReadOnlySpan<byte> StartOf(ReadOnlySpan<byte> bytes)
    {
        bytes = bytes.StartsWith("\uFEFF"u8) ? bytes["\uFEFF"u8.Length..] : bytes;
        bytes = bytes.TrimStart(" \t\r\n"u8);
        while (bytes is [(byte)'#', ..])
        {
            int end = bytes.IndexOf((byte)'\n');
            bytes = end < 0 ? [] : bytes[end..].TrimStart(" \t\r\n"u8);
        }

        return bytes;
    }

    private static byte[] Unpack(byte[] bytes, string origin)
    {
        if (!bytes.AsSpan().StartsWith((ReadOnlySpan<byte>)[0x1F, 0x8B]))
        {
            return bytes;
        }

        using GZipStream gzip = new(new MemoryStream(bytes), CompressionMode.Decompress);
        using MemoryStream unpacked = new();
        byte[] block = new byte[64 * 1024];
        try
        {
            for (int read = gzip.Read(block); read > 0; read = gzip.Read(block))
            {
                unpacked.Write(block, 0, read);
                if (unpacked.Length > MaxUnpackedBytes)
                {
                    throw SchemaError.Invalid(
                        $"Cannot use {origin}: it has more than {MaxUnpackedBytes / (1024 * 1024)} MB when "
                        + "it is decompressed. Make a smaller descriptor set, for example without the "
                        + "files that are not needed.");
                }
            }
        }
        catch (InvalidDataException e)
        {
            throw SchemaError.Invalid($"Cannot read {origin}: its gzip data is damaged ({e.Message})", e);
        }

        return unpacked.ToArray();
    }
}
