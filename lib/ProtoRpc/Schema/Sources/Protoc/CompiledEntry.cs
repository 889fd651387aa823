using System.Buffers.Binary;
using System.Numerics;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>A file that took part in a run of protoc.</summary>
/// <param name="Name">The name by which files import it.</param>
/// <param name="Path">Where it was found; empty if no folder has it.</param>
/// <param name="Content">The content of the file.</param>
internal sealed record CompiledSource(string Name, string Path, ByteString Content);

/// <summary>The result of a run of protoc, and its inputs.</summary>
/// <param name="Key">The parameters of the run.</param>
/// <param name="Set">The FileDescriptorSet.</param>
/// <param name="Warnings">The warnings of protoc.</param>
/// <param name="LeftOutOptions">The warnings about options that were left out.</param>
/// <param name="Sources">The files that the result depends on, including those that do not exist.</param>
internal sealed record CompiledEntry(
    string Key, ByteString Set, IReadOnlyList<string> Warnings, IReadOnlyList<string> LeftOutOptions,
    IReadOnlyList<CompiledSource> Sources)
{
    // Increase the number when the layout, the arguments of protoc or the texts of warnings change.
    private static ReadOnlySpan<byte> Magic => "ProtoRpc schema 1\n"u8;

    /// <summary>The entry as a file: a magic number, a checksum, and the fields in order.</summary>
    public byte[] ToBytes()
    {
        using MemoryStream file = new();
        file.Write(Magic);
        file.Write(stackalloc byte[sizeof(uint)]);
        CodedOutputStream output = new(file, leaveOpen: true);
        output.WriteString(Key);
        output.WriteBytes(Set);
        WriteTexts(output, Warnings);
        WriteTexts(output, LeftOutOptions);
        output.WriteInt32(Sources.Count);
        foreach (CompiledSource source in Sources)
        {
            output.WriteString(source.Name);
            output.WriteString(source.Path);
            output.WriteBytes(source.Content);
        }

        output.Flush();
        byte[] bytes = file.ToArray();
        BinaryPrimitives.WriteUInt32LittleEndian(
            bytes.AsSpan(Magic.Length), ChecksumOf(bytes.AsSpan(Magic.Length + sizeof(uint))));
        return bytes;
    }

    /// <summary>Reads such a file.</summary>
    /// <returns>Null if the file is damaged, or was written by another version.</returns>
    public static CompiledEntry? Read(byte[] bytes)
    {
        int start = Magic.Length + sizeof(uint);
        if (bytes.Length < start || !bytes.AsSpan().StartsWith(Magic)
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes.AsSpan(Magic.Length))
                != ChecksumOf(bytes.AsSpan(start)))
        {
            return null;
        }

        using CodedInputStream input = new(bytes, start, bytes.Length - start);
        try
        {
            CompiledEntry entry = new(
                input.ReadString(), input.ReadBytes(), ReadTexts(input), ReadTexts(input),
                ReadSources(input));
            return input.IsAtEnd ? entry : null;
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }

    private static void WriteTexts(CodedOutputStream output, IReadOnlyList<string> texts)
    {
        output.WriteInt32(texts.Count);
        foreach (string text in texts)
        {
            output.WriteString(text);
        }
    }

    // The list grows with the entries that are read, because the count in a damaged file can be wrong.
    private static List<string> ReadTexts(CodedInputStream input)
    {
        List<string> texts = [];
        for (int left = input.ReadInt32(); left > 0; left--)
        {
            texts.Add(input.ReadString());
        }

        return texts;
    }

    private static List<CompiledSource> ReadSources(CodedInputStream input)
    {
        List<CompiledSource> sources = [];
        for (int left = input.ReadInt32(); left > 0; left--)
        {
            sources.Add(new CompiledSource(input.ReadString(), input.ReadString(), input.ReadBytes()));
        }

        return sources;
    }

    // Protects against damaged files, not against attackers: only the owner can write the file. SHA-256 would
    // need 20 ms at its first use, because it loads OpenSSL.
    private static uint ChecksumOf(ReadOnlySpan<byte> bytes)
    {
        uint checksum = (uint)bytes.Length;
        for (; bytes.Length >= sizeof(ulong); bytes = bytes[sizeof(ulong)..])
        {
            checksum = BitOperations.Crc32C(checksum, BinaryPrimitives.ReadUInt64LittleEndian(bytes));
        }

        foreach (byte value in bytes)
        {
            checksum = BitOperations.Crc32C(checksum, value);
        }

        return checksum;
    }
}
