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

    /// <summary>The text of a file.</summary>
    public static string Write(RpcSchema schema, SchemaFile file)
    {
        ProtoTextWriter writer = new(schema, file);
        writer.WriteHead();
        writer.WriteElements();
        return writer._text.ToString();
    }

    /// <summary>The text of a message alone.</summary>
    public static string Write(RpcMessageInfo message)
    {
        ProtoTextWriter writer = new(message.Schema, message.File);
        writer._messages.WriteMessage(message.Proto, ScopeOf(message.FullName), message.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of an enum alone.</summary>
    public static string Write(RpcEnumInfo type)
    {
        ProtoTextWriter writer = new(type.Schema, type.File);
        writer._messages.WriteEnum(type.Proto, ScopeOf(type.FullName), type.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of a service alone.</summary>
    public static string Write(RpcServiceInfo service)
    {
        ProtoTextWriter writer = new(service.Schema, service.File);
        writer.WriteService(service.Proto, service.Path);
        return writer._text.ToString();
    }

    /// <summary>The text of a method alone.</summary>
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
            // A server, or a descriptor set, may lack the file. The options that it declares are then not
            // written, and protoc would not find it.
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
