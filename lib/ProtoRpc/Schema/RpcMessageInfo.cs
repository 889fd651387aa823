using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Options;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>A message type.</summary>
public sealed class RpcMessageInfo
{
    /// <summary>How the messages of this type are laid out: found and kept by the code that makes
    /// messages.</summary>
    internal object? Layout;

    private readonly Lazy<MessageFields> _members;

    internal RpcMessageInfo(
        RpcSchema schema, SchemaFile file, MessageDescriptor descriptor, DescriptorProto proto,
        FieldFeatures parentFeatures, string path)
    {
        Schema = schema;
        File = file;
        Descriptor = descriptor;
        Proto = proto;
        Path = path;
        FullName = descriptor.FullName;
        Features = parentFeatures.With(proto.Options?.Features);
        _members = new Lazy<MessageFields>(() => new MessageFields(this));
    }

    /// <summary>The name without package.</summary>
    public string Name => Proto.Name;

    /// <summary>The full name.</summary>
    public string FullName { get; }

    /// <summary>The schema that contains the message.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The name of the file that declares the message, without control characters, for showing
    /// it.</summary>
    public string FileName => TerminalText.Neutralize(File.Name);

    /// <summary>The fields in declared order, without extensions.</summary>
    public IReadOnlyList<RpcFieldInfo> Fields => _members.Value.Fields;

    /// <summary>The extensions of this message that the schema declares, by number.</summary>
    public IReadOnlyList<RpcFieldInfo> Extensions => _members.Value.Extensions;

    /// <summary>The real oneofs.</summary>
    public IReadOnlyList<RpcOneofInfo> Oneofs => _members.Value.Oneofs;

    /// <summary>Whether the message is the entry of a map field.</summary>
    public bool IsMapEntry => Proto.Options?.MapEntry == true;

    /// <summary>Whether the message is a MessageSet of old schemas (<c>message_set_wire_format</c>). It only
    /// has extensions; each is encoded as a group with a type id and a message.</summary>
    public bool IsMessageSet => Proto.Options?.MessageSetWireFormat == true;

    /// <summary>The message that declares this one, or null.</summary>
    public RpcMessageInfo? ContainingType =>
        Descriptor.ContainingType is { } parent ? Schema.MessageOf(parent) : null;

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(Schema, "MessageOptions", Proto.Options);

    /// <summary>The comment before the message, otherwise the one after its brace; or empty.</summary>
    public string Comment => File.Comments.Of(Path);

    internal MessageDescriptor Descriptor { get; }

    internal DescriptorProto Proto { get; }

    internal SchemaFile File { get; }

    internal string Path { get; }

    /// <summary>A field or extension by number, or null.</summary>
    public RpcFieldInfo? FindField(int number) => _members.Value.ByNumber.GetValueOrDefault(number);

    /// <summary>Finds a field by its proto name, then by its JSON name, then by either case-insensitively; or
    /// an extension by <c>[full.name]</c>. Null if there is none.</summary>
    public RpcFieldInfo? FindField(string name) => _members.Value.Find(name);

    /// <summary>The message as .proto text, with its nested declarations and comments.</summary>
    public string ToProtoText() => ProtoTextWriter.Write(this);

    /// <summary>The full name.</summary>
    public override string ToString() => FullName;

    /// <summary>The real oneof of an index of the descriptor.</summary>
    internal RpcOneofInfo? OneofAt(int index) => _members.Value.OneofsByIndex.GetValueOrDefault(index);

    /// <summary>The features of what is declared in this message.</summary>
    internal FieldFeatures Features { get; }
}
