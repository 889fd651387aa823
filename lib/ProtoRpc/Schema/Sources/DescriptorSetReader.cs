using Google.Protobuf;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources;

/// <summary>Reads serialized FileDescriptorSets.</summary>
internal static class DescriptorSetReader
{
    private const uint FileTag = (1 << 3) | (uint)WireFormat.WireType.LengthDelimited;

    /// <summary>The files of a set, in its order.</summary>
    /// <param name="bytes">The set; kept, not copied.</param>
    /// <param name="origin">What it is, for error messages.</param>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no set of files.</exception>
    public static IReadOnlyList<DescriptorFile> Read(byte[] bytes, string origin)
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
                + "Make one with 'protoc --include_imports --descriptor_set_out=FILE'.", e);
        }

        return files.Count > 0
            ? files
            : throw SchemaError.Invalid($"Cannot use {origin}: it holds no file.");
    }
}
