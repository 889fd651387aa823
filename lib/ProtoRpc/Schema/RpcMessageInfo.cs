using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>A message type.</summary>
public sealed class RpcMessageInfo
{
    /// <summary>The layout of the messages of this type, cached by the code that creates messages.</summary>
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

    /// <summary>The features for the declarations in this message.</summary>
    internal FieldFeatures Features { get; }
}

/// <summary>The fields, oneofs and extensions of a message, created on demand.</summary>
internal sealed class MessageFields
{
    private readonly Dictionary<string, RpcFieldInfo> _exact = new(StringComparer.Ordinal);
    private readonly Dictionary<string, RpcFieldInfo> _anyCase = new(StringComparer.OrdinalIgnoreCase);

    public MessageFields(RpcMessageInfo message)
    {
        DescriptorProto proto = message.Proto;
        IList<FieldDescriptor> descriptors = message.Descriptor.Fields.InDeclarationOrder();
        Fields = proto.Field
            .Select((field, i) => new RpcFieldInfo(
                message.Schema, message.File, descriptors[i], field, message.Features,
                $"{message.Path},{DescriptorProto.FieldFieldNumber},{i}"))
            .ToArray();
        Oneofs = MakeOneofs(message);
        Extensions = message.Schema.ExtensionsOf(message.FullName);
        foreach (RpcFieldInfo field in Fields.Concat(Extensions))
        {
            ByNumber.TryAdd(field.Number, field);
        }

        IndexNames(Fields);
        IndexNames(Extensions);
    }

    public IReadOnlyList<RpcFieldInfo> Fields { get; }

    public IReadOnlyList<RpcFieldInfo> Extensions { get; }

    public IReadOnlyList<RpcOneofInfo> Oneofs { get; }

    /// <summary>The same by their places in the descriptor, where synthetic ones count.</summary>
    public Dictionary<int, RpcOneofInfo> OneofsByIndex { get; } = [];

    public Dictionary<int, RpcFieldInfo> ByNumber { get; } = [];

    public RpcFieldInfo? Find(string name) =>
        _exact.GetValueOrDefault(name) ?? _anyCase.GetValueOrDefault(name);

    // Proto names take precedence over JSON names, in any order of the fields.
    private void IndexNames(IReadOnlyList<RpcFieldInfo> fields)
    {
        foreach (RpcFieldInfo field in fields)
        {
            _exact.TryAdd(field.Name, field);
            _anyCase.TryAdd(field.Name, field);
        }

        foreach (RpcFieldInfo field in fields)
        {
            _exact.TryAdd(field.JsonKey, field);
            _anyCase.TryAdd(field.JsonKey, field);
        }

        foreach (RpcFieldInfo field in fields)
        {
            if (field.MessageSetName is { } name)
            {
                _exact.TryAdd(name, field);
                _anyCase.TryAdd(name, field);
            }
        }
    }

    private List<RpcOneofInfo> MakeOneofs(RpcMessageInfo message)
    {
        List<RpcOneofInfo> oneofs = [];
        if (message.Proto.OneofDecl.Count == 0)
        {
            return oneofs;
        }

        ILookup<int, RpcFieldInfo> members = Enumerable.Range(0, Fields.Count)
            .Where(i => message.Proto.Field[i] is { HasOneofIndex: true, Proto3Optional: false })
            .ToLookup(i => message.Proto.Field[i].OneofIndex, i => Fields[i]);
        for (int i = 0; i < message.Proto.OneofDecl.Count; i++)
        {
            // The synthetic oneof of a proto3 optional field only exists for old parsers.
            if (members.Contains(i))
            {
                RpcOneofInfo oneof = new(message, message.Proto.OneofDecl[i], i) { Fields = [.. members[i]] };
                oneofs.Add(oneof);
                OneofsByIndex.Add(i, oneof);
            }
        }

        return oneofs;
    }
}

/// <summary>A oneof: fields of which at most one is set.</summary>
public sealed class RpcOneofInfo
{
    private readonly OneofDescriptorProto _proto;

    internal RpcOneofInfo(RpcMessageInfo containingType, OneofDescriptorProto proto, int index)
    {
        ContainingType = containingType;
        Index = index;
        _proto = proto;
    }

    /// <summary>The oneof's name.</summary>
    public string Name => _proto.Name;

    /// <summary>The message that contains the oneof.</summary>
    public RpcMessageInfo ContainingType { get; }

    /// <summary>The fields, in declared order.</summary>
    public IReadOnlyList<RpcFieldInfo> Fields { get; internal set; } = [];

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(ContainingType.Schema, "OneofOptions", _proto.Options);

    /// <summary>The comment before the oneof, otherwise the one after its brace; or empty.</summary>
    public string Comment =>
        ContainingType.File.Comments.Of(
            $"{ContainingType.Path},{DescriptorProto.OneofDeclFieldNumber},{Index}");

    /// <summary>The place among the oneofs of the descriptor, synthetic ones counted.</summary>
    internal int Index { get; }
}
