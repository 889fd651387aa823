using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>A file that is not linked yet.</summary>
/// <param name="Bytes">The serialized FileDescriptorProto.</param>
/// <param name="Proto">The same, parsed.</param>
/// <param name="Origin">Where it came from, for error messages.</param>
internal sealed record DescriptorFile(ByteString Bytes, FileDescriptorProto Proto, string Origin)
{
    public string Name => Proto.Name;

    /// <summary>Parses a FileDescriptorProto.</summary>
    public static DescriptorFile Parse(ByteString bytes, string origin)
    {
        try
        {
            return new DescriptorFile(bytes, FileDescriptorProto.Parser.ParseFrom(bytes), origin);
        }
        // The parser also throws other kinds of exceptions on hostile input.
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            throw SchemaError.Invalid($"A file descriptor in {origin} cannot be read: {e.Message}", e);
        }
    }
}
