using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>An enum type.</summary>
public sealed class RpcEnumInfo
{
    private readonly SchemaFile _file;
    private readonly EnumDescriptorProto _proto;
    private readonly string _path;
    private readonly Lazy<ValueIndex> _index;

    internal RpcEnumInfo(
        RpcSchema schema, SchemaFile file, EnumDescriptor descriptor, EnumDescriptorProto proto,
        FieldFeatures parentFeatures, string path)
    {
        Schema = schema;
        Descriptor = descriptor;
        _file = file;
        _proto = proto;
        _path = path;
        FullName = descriptor.FullName;
        IsClosed = parentFeatures.With(proto.Options?.Features).EnumType == FeatureSet.Types.EnumType.Closed;
        _index = new Lazy<ValueIndex>(() => new ValueIndex(proto));
    }

    /// <summary>The name without package.</summary>
    public string Name => _proto.Name;

    /// <summary>The full name.</summary>
    public string FullName { get; }

    /// <summary>The schema that it is part of.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The file that declares it.</summary>
    public string FileName => _file.Name;

    /// <summary>Whether numbers that it does not declare are refused (proto2, enum_type = CLOSED).</summary>
    public bool IsClosed { get; }

    /// <summary>Names and numbers in declared order; aliases included.</summary>
    public IReadOnlyList<KeyValuePair<string, int>> Values => _index.Value.Values;

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options => OptionReader.Read(Schema, "EnumOptions", _proto.Options);

    /// <summary>The comment before the enum, else the one after its brace; or empty.</summary>
    public string Comment => _file.Comments.Of(_path);

    internal EnumDescriptor Descriptor { get; }

    /// <summary>The number of a name, compared exactly and then without regard to case.</summary>
    public bool TryGetNumber(string name, out int number) =>
        _index.Value.Exact.TryGetValue(name, out number) || _index.Value.AnyCase.TryGetValue(name, out number);

    /// <summary>The first declared name of a number, or null.</summary>
    public string? FindName(int number) => _index.Value.Names.GetValueOrDefault(number);

    /// <summary>The comment before a value, else the one after it; empty also for names that there are not.</summary>
    public string GetValueComment(string valueName)
    {
        for (int i = 0; i < _proto.Value.Count; i++)
        {
            if (_proto.Value[i].Name == valueName)
            {
                return _file.Comments.Of($"{_path},{EnumDescriptorProto.ValueFieldNumber},{i}");
            }
        }

        return "";
    }

    /// <summary>The full name.</summary>
    public override string ToString() => FullName;

    private sealed class ValueIndex
    {
        public ValueIndex(EnumDescriptorProto proto)
        {
            Values = [.. proto.Value.Select(v => KeyValuePair.Create(v.Name, v.Number))];
            foreach ((string name, int number) in Values)
            {
                Exact.TryAdd(name, number);
                AnyCase.TryAdd(name, number);
                Names.TryAdd(number, name);
            }
        }

        public IReadOnlyList<KeyValuePair<string, int>> Values { get; }

        public Dictionary<string, int> Exact { get; } = new(StringComparer.Ordinal);

        public Dictionary<string, int> AnyCase { get; } = new(StringComparer.OrdinalIgnoreCase);

        public Dictionary<int, string> Names { get; } = [];
    }
}
