using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>The fields, oneofs and extensions of a message, made when they are first asked for.</summary>
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
        ILookup<int, RpcFieldInfo> members = Enumerable.Range(0, Fields.Count)
            .Where(i => message.Proto.Field[i] is { HasOneofIndex: true, Proto3Optional: false })
            .ToLookup(i => message.Proto.Field[i].OneofIndex, i => Fields[i]);
        List<RpcOneofInfo> oneofs = [];
        for (int i = 0; i < message.Proto.OneofDecl.Count; i++)
        {
            // The oneof of a proto3 optional field is there for old readers only.
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
