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
        Descriptor = descriptor;
        Proto = proto;
        Path = path;
        FullName = descriptor.FullName;
        IsClosed = parentFeatures.With(proto.Options?.Features).EnumType == FeatureSet.Types.EnumType.Closed;
        _index = new Lazy<ValueIndex>(() => new ValueIndex(proto, PrefixesOf(file.Proto.Package)));
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

    /// <summary>The numbers of a closed enum; null for an open one.</summary>
    /// <remarks>Kept here, because thousands of fields may have one large enum.</remarks>
    internal FrozenSet<int>? ClosedNumbers => IsClosed ? _index.Value.Numbers : null;

    internal EnumDescriptor Descriptor { get; }

    internal EnumDescriptorProto Proto { get; }

    internal SchemaFile File { get; }

    internal string Path { get; }

    /// <summary>Finds the number of a name: exactly first, then case-insensitively, then by its short name.
    /// <c>tool</c> is short for <c>CATEGORY_TOOL</c> in the enum <c>Category</c>, unless two numbers have
    /// this short name.</summary>
    public bool TryGetNumber(string name, out int number) =>
        _index.Value.Exact.TryGetValue(name, out number)
            || _index.Value.AnyCase.TryGetValue(name, out number)
            || _index.Value.TryGetShort(name, out number);

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

    // The possible prefixes of values: the name of the enum, with and without its outer messages, such as
    // State and OrderState.
    private string[] PrefixesOf(string package)
    {
        string[] names = (package.Length == 0 ? FullName : FullName[(package.Length + 1)..]).Split('.');
        return [.. Enumerable.Range(0, names.Length)
            .Select(outer => string.Concat(names[outer..]).Replace("_", "", StringComparison.Ordinal))];
    }

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
        private readonly string[] _prefixes;
        private FrozenSet<int>? _numbers;
        private Dictionary<string, int?>? _short;

        public ValueIndex(EnumDescriptorProto proto, string[] prefixes)
        {
            _prefixes = prefixes;
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

        public bool TryGetShort(string name, out int number)
        {
            bool isFound = (_short ??= ShortNames()).GetValueOrDefault(name) is not null;
            number = isFound ? _short[name]!.Value : 0;
            return isFound;
        }

        // The value is null for a short name of several numbers.
        private Dictionary<string, int?> ShortNames()
        {
            Dictionary<string, int?> names = new(StringComparer.OrdinalIgnoreCase);
            foreach ((string name, int number) in Values)
            {
                if (ShortOf(name) is { } text && !names.TryAdd(text, number) && names[text] != number)
                {
                    names[text] = null;
                }
            }

            return names;
        }

        private string? ShortOf(string name) =>
            _prefixes.Select(prefix => Without(prefix, name)).FirstOrDefault(rest => rest is not null);

        // Returns the name after a prefix, ignoring underscores. Null if it begins with a digit, because it
        // would look like a number.
        private static string? Without(string prefix, string name)
        {
            int matched = 0;
            int i = 0;
            for (; i < name.Length && matched < prefix.Length; i++)
            {
                if (name[i] == '_')
                {
                    continue;
                }

                if (char.ToUpperInvariant(name[i]) != char.ToUpperInvariant(prefix[matched]))
                {
                    return null;
                }

                matched++;
            }

            return matched == prefix.Length && i + 1 < name.Length && name[i] == '_'
                && !char.IsAsciiDigit(name[i + 1])
                ? name[(i + 1)..]
                : null;
        }
    }
}
