using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>A linked file: its descriptor, the message that it was made of,
/// and what is derived of both.</summary>
internal sealed class SchemaFile
{
    private readonly Lazy<SourceComments> _comments;

    public SchemaFile(FileDescriptor descriptor, FileDescriptorProto proto)
    {
        Descriptor = descriptor;
        Proto = proto;
        Features = FieldFeatures.OfFile(proto);
        _comments = new Lazy<SourceComments>(() => new SourceComments(proto.SourceCodeInfo));
    }

    public FileDescriptor Descriptor { get; }

    /// <summary>The parsed file, shared: never changed.</summary>
    public FileDescriptorProto Proto { get; }

    public string Name => Proto.Name;

    public FieldFeatures Features { get; }

    public SourceComments Comments => _comments.Value;

    /// <summary>The file as it came.</summary>
    public ByteString Bytes => Descriptor.SerializedData;
}
