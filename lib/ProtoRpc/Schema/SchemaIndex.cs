using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>What a schema's files declare, by full name;
/// fields are made when they are first asked for.</summary>
internal sealed class SchemaIndex
{
    private readonly RpcSchema _schema;
    private readonly Dictionary<string, RpcMessageInfo> _messages = new(StringComparer.Ordinal);
    private readonly Dictionary<string, RpcEnumInfo> _enums = new(StringComparer.Ordinal);
    private readonly List<RpcMessageInfo> _messageList = [];
    private readonly List<RpcEnumInfo> _enumList = [];
    private readonly Dictionary<string, SortedDictionary<int, RpcFieldInfo>> _extensions =
        new(StringComparer.Ordinal);

    public SchemaIndex(RpcSchema schema, IReadOnlyList<SchemaFile> files)
    {
        _schema = schema;
        foreach (SchemaFile file in files)
        {
            AddFile(file);
        }
    }

    /// <summary>All but map entries, nested ones after their parent.</summary>
    public IReadOnlyList<RpcMessageInfo> Messages => _messageList;

    public IReadOnlyList<RpcEnumInfo> Enums => _enumList;

    public static List<RpcServiceInfo> MakeServices(RpcSchema schema, IReadOnlyList<SchemaFile> files)
    {
        List<RpcServiceInfo> services = [];
        Dictionary<string, RpcServiceInfo> byName = new(StringComparer.Ordinal);
        foreach (SchemaFile file in files)
        {
            for (int i = 0; i < file.Proto.Service.Count; i++)
            {
                RpcServiceInfo service = new(
                    schema, file, file.Descriptor.Services[i], file.Proto.Service[i],
                    $"{FileDescriptorProto.ServiceFieldNumber},{i}");
                if (!byName.TryAdd(service.FullName, service))
                {
                    throw Duplicate(
                        "service", service.FullName, byName[service.FullName].FileName, file.Name);
                }

                services.Add(service);
            }
        }

        return services;
    }

    public RpcMessageInfo? FindMessage(string fullName) => _messages.GetValueOrDefault(fullName);

    public RpcEnumInfo? FindEnum(string fullName) => _enums.GetValueOrDefault(fullName);

    /// <summary>The extensions of a message, by number.</summary>
    public IReadOnlyList<RpcFieldInfo> ExtensionsOf(string messageFullName) =>
        _extensions.TryGetValue(messageFullName, out SortedDictionary<int, RpcFieldInfo>? found)
            ? [.. found.Values]
            : [];

    private void AddFile(SchemaFile file)
    {
        FileDescriptorProto proto = file.Proto;
        for (int i = 0; i < proto.MessageType.Count; i++)
        {
            AddMessage(
                file, file.Descriptor.MessageTypes[i], proto.MessageType[i], file.Features,
                $"{FileDescriptorProto.MessageTypeFieldNumber},{i}");
        }

        for (int i = 0; i < proto.EnumType.Count; i++)
        {
            AddEnum(
                file, file.Descriptor.EnumTypes[i], proto.EnumType[i], file.Features,
                $"{FileDescriptorProto.EnumTypeFieldNumber},{i}");
        }

        for (int i = 0; i < proto.Extension.Count; i++)
        {
            AddExtension(
                file, file.Descriptor.Extensions.UnorderedExtensions[i], proto.Extension[i], file.Features,
                $"{FileDescriptorProto.ExtensionFieldNumber},{i}");
        }
    }

    // As deep as the parser of descriptors lets messages nest, which is 100.
    private void AddMessage(
        SchemaFile file, MessageDescriptor descriptor, DescriptorProto proto,
        FieldFeatures parent, string path)
    {
        RpcMessageInfo message = new(_schema, file, descriptor, proto, parent, path);
        if (!_messages.TryAdd(message.FullName, message))
        {
            throw Duplicate("message", message.FullName, _messages[message.FullName].FileName, file.Name);
        }

        if (!message.IsMapEntry)
        {
            _messageList.Add(message);
        }

        for (int i = 0; i < proto.NestedType.Count; i++)
        {
            AddMessage(
                file, descriptor.NestedTypes[i], proto.NestedType[i], message.Features,
                $"{path},{DescriptorProto.NestedTypeFieldNumber},{i}");
        }

        for (int i = 0; i < proto.EnumType.Count; i++)
        {
            AddEnum(
                file, descriptor.EnumTypes[i], proto.EnumType[i], message.Features,
                $"{path},{DescriptorProto.EnumTypeFieldNumber},{i}");
        }

        for (int i = 0; i < proto.Extension.Count; i++)
        {
            AddExtension(
                file, descriptor.Extensions.UnorderedExtensions[i], proto.Extension[i], message.Features,
                $"{path},{DescriptorProto.ExtensionFieldNumber},{i}");
        }
    }

    private void AddEnum(
        SchemaFile file, EnumDescriptor descriptor, EnumDescriptorProto proto,
        FieldFeatures parent, string path)
    {
        RpcEnumInfo info = new(_schema, file, descriptor, proto, parent, path);
        if (!_enums.TryAdd(info.FullName, info))
        {
            throw Duplicate("enum", info.FullName, _enums[info.FullName].FileName, file.Name);
        }

        _enumList.Add(info);
    }

    private void AddExtension(
        SchemaFile file, FieldDescriptor descriptor, FieldDescriptorProto proto,
        FieldFeatures parent, string path)
    {
        RpcFieldInfo extension = new(_schema, file, descriptor, proto, parent, path);
        string extendee = descriptor.ExtendeeType.FullName;
        if (!_extensions.TryGetValue(extendee, out SortedDictionary<int, RpcFieldInfo>? numbers))
        {
            _extensions.Add(extendee, numbers = []);
        }

        if (!numbers.TryAdd(extension.Number, extension))
        {
            throw SchemaError.Invalid(
                $"{file.Name}: the extension '{extension.FullName}' has the number {extension.Number} of "
                + $"'{extendee}', which '{numbers[extension.Number].FullName}' has already.");
        }
    }

    private static RpcException Duplicate(string kind, string name, string first, string second) =>
        SchemaError.Invalid($"The {kind} '{name}' is declared in '{first}' and in '{second}'.");
}
