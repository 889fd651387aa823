using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Text;

/// <summary>Writes a linked file as .proto text that protoc compiles to an equal descriptor.</summary>
internal sealed class ProtoTextWriter
{
    private readonly FileDescriptorProto _proto;
    private readonly ProtoText _text;
    private readonly ProtoTextNames _names;
    private readonly ProtoTextOptions _options;
    private readonly ProtoTextMessages _messages;
    private readonly Func<string, bool> _hasFile;

    private ProtoTextWriter(RpcSchema schema, SchemaFile file)
    {
        _proto = file.Proto;
        _text = new ProtoText(file.Comments);
        _names = schema.TextNames;
        _hasFile = name => schema.SchemaFiles.Any(one => one.Name == name);
        _options = new ProtoTextOptions(schema, _names, _text);
        _messages = new ProtoTextMessages(_text, _names, _options, file);
    }

    public static string Write(RpcSchema schema, SchemaFile file)
    {
        ProtoTextWriter writer = new(schema, file);
        writer.WriteHead();
        writer.WriteElements();
        return writer._text.ToString();
    }

    /// <summary>The text of a single message.</summary>
    public static string Write(RpcMessageInfo message)
    {
        ProtoTextWriter writer = new(message.Schema, message.File);
        writer._messages.WriteMessage(message.Proto, ScopeOf(message.FullName), message.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of a single enum.</summary>
    public static string Write(RpcEnumInfo type)
    {
        ProtoTextWriter writer = new(type.Schema, type.File);
        writer._messages.WriteEnum(type.Proto, ScopeOf(type.FullName), type.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of a single service.</summary>
    public static string Write(RpcServiceInfo service)
    {
        ProtoTextWriter writer = new(service.Schema, service.File);
        writer.WriteService(service.Proto, service.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of a single method.</summary>
    public static string Write(RpcMethodInfo method)
    {
        ProtoTextWriter writer = new(method.Service.Schema, method.Service.File);
        writer.WriteMethod(method.Proto, method.Service.FullName, method.Path);
        return writer._text.ToString();
    }

    private static string ScopeOf(string fullName) => fullName[..Math.Max(0, fullName.LastIndexOf('.'))];

    private void WriteHead()
    {
        if (_proto.Syntax == "editions")
        {
            _text.Statement(
                $"edition = \"{FieldFeatures.EditionName(_proto.Edition)}\";",
                $"{FileDescriptorProto.EditionFieldNumber}");
        }
        else
        {
            string syntax = _proto.Syntax.Length == 0 ? "proto2" : _proto.Syntax;
            _text.Statement($"syntax = \"{syntax}\";", $"{FileDescriptorProto.SyntaxFieldNumber}");
        }

        _text.Blank();
        if (_proto.Package.Length > 0)
        {
            _text.Statement($"package {_proto.Package};", $"{FileDescriptorProto.PackageFieldNumber}");
            _text.Blank();
        }

        WriteImports();
        _text.Blank();
        _options.WriteStatements("FileOptions", _proto.Options, _proto.Package);
    }

    private void WriteImports()
    {
        for (int i = 0; i < _proto.Dependency.Count; i++)
        {
            string kind = _proto.PublicDependency.Contains(i) ? "public "
                : _proto.WeakDependency.Contains(i) ? "weak "
                : "";
            _text.Statement(
                $"import {kind}{ProtoTextLiteral.Quote(_proto.Dependency[i])};",
                $"{FileDescriptorProto.DependencyFieldNumber},{i}");
        }

        for (int i = 0; i < _proto.OptionDependency.Count; i++)
        {
            // A server or descriptor set may lack the imported file. Its options are not written then, and
            // protoc could not find it, so the import is omitted.
            if (_hasFile(_proto.OptionDependency[i]))
            {
                _text.Statement(
                    $"import option {ProtoTextLiteral.Quote(_proto.OptionDependency[i])};",
                    $"{FileDescriptorProto.OptionDependencyFieldNumber},{i}");
            }
        }
    }

    private void WriteElements()
    {
        ProtoTextOrder order = new(_messages.Positions);
        _messages.AddTypes(
            order, _proto.MessageType, $"{FileDescriptorProto.MessageTypeFieldNumber}",
            _proto.EnumType, $"{FileDescriptorProto.EnumTypeFieldNumber}", _proto.Extension, _proto.Package);
        order.Add(_proto.Service.Select((service, i) =>
        {
            string path = $"{FileDescriptorProto.ServiceFieldNumber},{i}";
            return new ProtoTextElement(path, () => WriteService(service, path));
        }));
        _messages.AddExtensions(
            order, _proto.Extension, $"{FileDescriptorProto.ExtensionFieldNumber}",
            _proto.MessageType, $"{FileDescriptorProto.MessageTypeFieldNumber}", _proto.Package);
        foreach (Action write in order.InOrder())
        {
            _text.Blank();
            write();
        }
    }

    private void WriteService(ServiceDescriptorProto service, string path) =>
        _text.Block($"service {service.Name}", path, () =>
        {
            string scope = ProtoTextNames.Join(_proto.Package, service.Name);
            _options.WriteStatements("ServiceOptions", service.Options, _proto.Package);
            _text.Blank();
            for (int i = 0; i < service.Method.Count; i++)
            {
                WriteMethod(
                    service.Method[i], scope, $"{path},{ServiceDescriptorProto.MethodFieldNumber},{i}");
            }
        });

    private void WriteMethod(MethodDescriptorProto method, string scope, string path)
    {
        string request =
            (method.ClientStreaming ? "stream " : "") + _names.Reference(method.InputType, scope);
        string reply = (method.ServerStreaming ? "stream " : "") + _names.Reference(method.OutputType, scope);
        string head = $"rpc {method.Name} ({request}) returns ({reply})";
        if (method.Options is null)
        {
            _text.Statement($"{head};", path);
        }
        else
        {
            _text.Block(head, path, () => _options.WriteStatements("MethodOptions", method.Options, scope));
        }
    }
}

/// <summary>An element of a file or message.</summary>
/// <param name="Path">Its place in the descriptor.</param>
/// <param name="Write">Writes it.</param>
/// <param name="TypeIndex">
/// The place among the messages around it of the message that it is, or that it brings with it:
/// a group's, or a map's entry. None for other elements.
/// </param>
internal sealed record ProtoTextElement(string Path, Action Write, int? TypeIndex = null);

/// <summary>Puts elements of several kinds into the order of the source,
/// which descriptors keep per kind only.
/// </summary>
internal sealed class ProtoTextOrder(SourcePositions positions)
{
    private readonly List<List<ProtoTextElement>> _kinds = [];

    /// <summary>Adds the elements of a kind in their order, which is never changed.</summary>
    public void Add(IEnumerable<ProtoTextElement> elements) => _kinds.Add([.. elements]);

    /// <summary>All elements: by their source positions if these are known, otherwise kind by kind, as far as
    /// the order of messages permits.</summary>
    public IEnumerable<Action> InOrder() => BySource() ?? ByKind();

    private List<Action>? BySource()
    {
        List<((int Line, int Column) Position, Action Write)> placed = [];
        foreach (List<ProtoTextElement> kind in _kinds)
        {
            (int Line, int Column) last = (-1, -1);
            foreach (ProtoTextElement element in kind)
            {
                (int Line, int Column)? position = positions.Of(element.Path);
                if (position is null || position.Value.CompareTo(last) <= 0)
                {
                    return null;
                }

                last = position.Value;
                placed.Add((last, element.Write));
            }
        }

        return [.. placed.OrderBy(p => p.Position).Select(p => p.Write)];
    }

    // Repeats with the kind that contains the next message: takes its elements up to this message, until no
    // message is left.
    private List<Action> ByKind()
    {
        List<Action> order = [];
        WaitingKind[] waiting = [.. _kinds.Select(kind => new WaitingKind(kind))];
        while (waiting.MinBy(kind => kind.NextType) is { NextType: < int.MaxValue } first)
        {
            first.TakeType(order);
        }

        foreach (WaitingKind kind in waiting)
        {
            kind.TakeAll(order);
        }

        return order;
    }

    // A queue per kind: searching for the next message each time would need quadratic time in a schema with
    // thousands of messages and enums.
    private sealed class WaitingKind(List<ProtoTextElement> elements)
    {
        private readonly List<ProtoTextElement> _elements = elements;
        private readonly Queue<int> _types = new(Enumerable.Range(0, elements.Count)
            .Where(i => elements[i].TypeIndex is not null));
        private int _taken;

        /// <summary>The place of the next message; int.MaxValue for none.</summary>
        public int NextType => _types.TryPeek(out int next) ? _elements[next].TypeIndex!.Value : int.MaxValue;

        /// <summary>Takes the elements up to the next message.</summary>
        public void TakeType(List<Action> order) => Take(order, _types.Dequeue() + 1);

        public void TakeAll(List<Action> order) => Take(order, _elements.Count);

        private void Take(List<Action> order, int end)
        {
            for (; _taken < end; _taken++)
            {
                order.Add(_elements[_taken].Write);
            }
        }
    }
}

/// <summary>Writes references to types and extensions so
/// that the language's scoping finds them again.</summary>
internal sealed class ProtoTextNames
{
    // If a type is expected, protoc reads these words as keywords.
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

    /// <summary>A name in a scope; the name itself in the scope of files without a package.</summary>
    public static string Join(string scope, string name) => scope.Length == 0 ? name : $"{scope}.{name}";

    /// <summary>A type as a descriptor names it, with a dot in front, in its shortest form.</summary>
    public string Reference(string typeName, string scope)
    {
        // A name without a leading dot is not resolved, so it is written as it is.
        string name = typeName.StartsWith('.') ? Type(typeName[1..], scope) : typeName;
        return Words.Contains(name.Split('.', 2)[0]) ? typeName : name;
    }

    /// <summary>The shortest name by which a scope can refer to the type.</summary>
    /// <param name="fullName">The type.</param>
    /// <param name="scope">The full name of the message or package with the reference.</param>
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

    // protoc resolves the first part of a name from the innermost scope outwards. A symbol of that name in an
    // inner scope would hide the intended one.
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

    // The values of an enum belong to the scope of the enum, not to the enum.
    private void AddEnum(EnumDescriptorProto type, string prefix)
    {
        _symbols.Add(prefix + type.Name);
        Add(prefix, type.Value.Select(v => v.Name));
    }

    private void Add(string prefix, IEnumerable<string> names) =>
        _symbols.UnionWith(names.Select(n => prefix + n));
}
