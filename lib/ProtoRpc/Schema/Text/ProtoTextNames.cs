using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Text;

/// <summary>Writes references to types and extensions so
/// that the language's scoping finds them again.</summary>
internal sealed class ProtoTextNames
{
    // Where a type is expected, these words are read as what they mean in the language.
    private static readonly HashSet<string> Words =
    [
        "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64",
        "sfixed32", "sfixed64", "bool", "string", "bytes", "message", "enum", "extend",
        "extensions", "reserved",
        "option", "oneof", "optional", "required", "repeated", "group", "map", "stream", "export", "local",
    ];

    private readonly HashSet<string> _symbols = new(StringComparer.Ordinal);

    public ProtoTextNames(IEnumerable<SchemaFile> files)
    {
        foreach (SchemaFile file in files)
        {
            AddFile(file.Proto);
        }
    }

    /// <summary>A name in a scope, or alone in the scope of files without a package.</summary>
    public static string Join(string scope, string name) => scope.Length == 0 ? name : $"{scope}.{name}";

    /// <summary>A type as a descriptor names it, with a dot in front, in its shortest form.</summary>
    public string Reference(string typeName, string scope)
    {
        // Without the dot it is already what somebody wrote.
        string name = typeName.StartsWith('.') ? Type(typeName[1..], scope) : typeName;
        return Words.Contains(name.Split('.', 2)[0]) ? typeName : name;
    }

    /// <summary>The shortest name that means the type when it is written inside of a scope.</summary>
    /// <param name="fullName">The type.</param>
    /// <param name="scope">The full name of the message or package in which the reference stands.</param>
    private string Type(string fullName, string scope)
    {
        for (string outer = scope; outer.Length > 0; outer = Parent(outer))
        {
            if (fullName.StartsWith(outer + ".", StringComparison.Ordinal))
            {
                string name = fullName[(outer.Length + 1)..];
                if (!IsHidden(name, scope, outer))
                {
                    return name;
                }
            }
        }

        return Full(fullName, scope);
    }

    /// <summary>The full name, with a dot in front
    /// where something nearer has its first part's name.</summary>
    public string Full(string fullName, string scope) =>
        IsHidden(fullName, scope, "") ? "." + fullName : fullName;

    // Names are looked for from the inside outwards by their first part, which must not be met before the
    // scope that is meant.
    private bool IsHidden(string name, string scope, string meant)
    {
        string first = name.Split('.', 2)[0];
        for (string inner = scope; inner.Length > meant.Length; inner = Parent(inner))
        {
            if (_symbols.Contains($"{inner}.{first}"))
            {
                return true;
            }
        }

        return false;
    }

    private static string Parent(string name) => name[..Math.Max(0, name.LastIndexOf('.'))];

    private void AddFile(FileDescriptorProto file)
    {
        for (string package = file.Package; package.Length > 0; package = Parent(package))
        {
            _symbols.Add(package);
        }

        string prefix = file.Package.Length == 0 ? "" : file.Package + ".";
        Add(prefix, file.Extension.Select(e => e.Name));
        foreach (DescriptorProto message in file.MessageType)
        {
            AddMessage(message, prefix);
        }

        foreach (EnumDescriptorProto type in file.EnumType)
        {
            AddEnum(type, prefix);
        }

        foreach (ServiceDescriptorProto service in file.Service)
        {
            _symbols.Add(prefix + service.Name);
            Add($"{prefix}{service.Name}.", service.Method.Select(m => m.Name));
        }
    }

    private void AddMessage(DescriptorProto message, string prefix)
    {
        _symbols.Add(prefix + message.Name);
        string inner = $"{prefix}{message.Name}.";
        Add(inner, message.Field.Select(f => f.Name));
        Add(inner, message.Extension.Select(e => e.Name));
        Add(inner, message.OneofDecl.Select(o => o.Name));
        foreach (DescriptorProto nested in message.NestedType)
        {
            AddMessage(nested, inner);
        }

        foreach (EnumDescriptorProto type in message.EnumType)
        {
            AddEnum(type, inner);
        }
    }

    // The values of an enum stand beside it, not inside.
    private void AddEnum(EnumDescriptorProto type, string prefix)
    {
        _symbols.Add(prefix + type.Name);
        Add(prefix, type.Value.Select(v => v.Name));
    }

    private void Add(string prefix, IEnumerable<string> names) =>
        _symbols.UnionWith(names.Select(n => prefix + n));
}
