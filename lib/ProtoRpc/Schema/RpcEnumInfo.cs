using System.Collections.Frozen;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>An enum type.</summary>
public sealed class RpcEnumInfo
{
    private readonly Lazy<ValueIndex> _index;

    internal RpcEnumInfo(
        RpcSchema schema, SchemaFile file, EnumDescriptor descriptor, EnumDescriptorProto proto,
        FieldFeatures parentFeatures, string path)
    {
        Schema = schema;
        File = file;
        Proto = proto;
        Path = path;
        FullName = descriptor.FullName;
        IsClosed = parentFeatures.With(proto.Options?.Features).EnumType == FeatureSet.Types.EnumType.Closed;
        _index = new Lazy<ValueIndex>(() => new ValueIndex(proto));
    }

    /// <summary>The name without package.</summary>
    public string Name => Proto.Name;

    /// <summary>The full name.</summary>
    public string FullName { get; }

    /// <summary>The schema that contains the enum.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The name of the file that declares the enum, without control characters, for showing
    /// it.</summary>
    public string FileName => TerminalText.Neutralize(File.Name);

    /// <summary>Whether undeclared numbers are rejected (proto2, enum_type = CLOSED).</summary>
    public bool IsClosed { get; }

    /// <summary>The names and numbers in declared order, including aliases.</summary>
    public IReadOnlyList<KeyValuePair<string, int>> Values => _index.Value.Values;

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(Schema, "EnumOptions", Proto.Options);

    /// <summary>The comment before the enum, otherwise the one after its brace; or empty.</summary>
    public string Comment => File.Comments.Of(Path);

    /// <summary>The numbers that a closed enum takes; null for an open one.</summary>
    /// <remarks>Kept here, because thousands of fields may have one large enum.</remarks>
    internal FrozenSet<int>? ClosedNumbers => IsClosed ? _index.Value.Numbers : null;

    internal EnumDescriptorProto Proto { get; }

    internal SchemaFile File { get; }

    internal string Path { get; }

    /// <summary>Finds the number of a name: exactly first, then case-insensitively.</summary>
    public bool TryGetNumber(string name, out int number) =>
        _index.Value.Exact.TryGetValue(name, out number)
            || _index.Value.AnyCase.TryGetValue(name, out number);

    /// <summary>The first declared name of a number, or null.</summary>
    public string? FindName(int number) => _index.Value.Names.GetValueOrDefault(number);

    /// <summary>Finds the number of a name exactly.</summary>
    internal bool TryGetExactNumber(string name, out int number) =>
        _index.Value.Exact.TryGetValue(name, out number);

    /// <summary>The comment before a value, otherwise the one after it; empty for an unknown name.</summary>
    public string GetValueComment(string valueName) => IndexOf(valueName) is >= 0 and int index
        ? File.Comments.Of($"{Path},{EnumDescriptorProto.ValueFieldNumber},{index}")
        : "";

    /// <summary>The options of a value; empty for an unknown name.</summary>
    public IReadOnlyDictionary<string, object?> GetValueOptions(string valueName) => OptionReader.Read(
        Schema, "EnumValueOptions", Proto.Value.FirstOrDefault(v => v.Name == valueName)?.Options);

    /// <summary>The enum as .proto text, with its comments.</summary>
    public string ToProtoText() => ProtoTextWriter.Write(this);

    /// <summary>The full name.</summary>
    public override string ToString() => FullName;

    private int IndexOf(string valueName)
    {
        int index = 0;
        while (index < Proto.Value.Count && Proto.Value[index].Name != valueName)
        {
            index++;
        }

        return index < Proto.Value.Count ? index : -1;
    }

    private sealed class ValueIndex
    {
        private FrozenSet<int>? _numbers;

        public ValueIndex(EnumDescriptorProto proto)
        {
            Values = proto.Value.Select(v => KeyValuePair.Create(v.Name, v.Number)).ToArray();
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

        public FrozenSet<int> Numbers => _numbers ??= Names.Keys.ToFrozenSet();
    }
}
