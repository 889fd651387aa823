using System.Collections.Concurrent;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>The files of schemas by what they declare.</summary>
internal sealed class ReflectionFiles
{
    private readonly Dictionary<string, FileDescriptorProto> _byName = new(StringComparer.Ordinal);

    // Serialized with the first request.
    private readonly ConcurrentDictionary<string, ByteString> _bytes = new(StringComparer.Ordinal);
    private readonly Dictionary<string, FileDescriptorProto> _bySymbol = new(StringComparer.Ordinal);
    private readonly Dictionary<string, SortedDictionary<int, FileDescriptorProto>> _extensions = new(
        StringComparer.Ordinal);

    public ReflectionFiles(IEnumerable<RpcSchema> schemas, IEnumerable<FileDescriptorProto> further)
    {
        IEnumerable<FileDescriptorProto> files = schemas.SelectMany(s => s.SchemaFiles).Select(f => f.Proto);
        foreach (FileDescriptorProto file in files.Concat(further))
        {
            if (_byName.TryAdd(file.Name, file))
            {
                AddSymbols(file);
            }
        }
    }

    /// <summary>A file with what it imports, itself first; null when there is none.</summary>
    public IReadOnlyList<ByteString>? FindFile(string name) => WithImports(_byName.GetValueOrDefault(name));

    /// <summary>The file that declares a service, method, message, field, enum or extension.</summary>
    public IReadOnlyList<ByteString>? FindSymbol(string name) =>
        WithImports(_bySymbol.GetValueOrDefault(name));

    /// <summary>The file that declares an extension.</summary>
    public IReadOnlyList<ByteString>? FindExtension(string type, int number) =>
        WithImports(_extensions.GetValueOrDefault(type)?.GetValueOrDefault(number));

    /// <summary>The numbers of a message's extensions; null when there is no such message.</summary>
    public IEnumerable<int>? NumbersOf(string type) =>
        _extensions.TryGetValue(type, out SortedDictionary<int, FileDescriptorProto>? found) ? found.Keys
        : _bySymbol.ContainsKey(type) ? []
        : null;

    private List<ByteString>? WithImports(FileDescriptorProto? file)
    {
        if (file is null)
        {
            return null;
        }

        List<ByteString> files = [];
        HashSet<string> seen = [file.Name];
        Queue<FileDescriptorProto> waiting = new([file]);
        while (waiting.TryDequeue(out FileDescriptorProto? next))
        {
            files.Add(_bytes.GetOrAdd(next.Name, static (_, proto) => proto.ToByteString(), next));
            foreach (string import in next.Dependency.Concat(next.OptionDependency))
            {
                if (seen.Add(import) && _byName.TryGetValue(import, out FileDescriptorProto? found))
                {
                    waiting.Enqueue(found);
                }
            }
        }

        return files;
    }

    private void AddSymbols(FileDescriptorProto file)
    {
        string prefix = file.Package.Length == 0 ? "" : $"{file.Package}.";
        foreach (ServiceDescriptorProto service in file.Service)
        {
            Add($"{prefix}{service.Name}", file);
            foreach (MethodDescriptorProto method in service.Method)
            {
                Add($"{prefix}{service.Name}.{method.Name}", file);
            }
        }

        AddEnums(file.EnumType, prefix, file);
        AddExtensions(file.Extension, prefix, file);
        foreach (DescriptorProto message in file.MessageType)
        {
            AddMessage(message, prefix, file);
        }
    }

    private void AddMessage(DescriptorProto message, string prefix, FileDescriptorProto file)
    {
        string name = $"{prefix}{message.Name}";
        Add(name, file);
        foreach (FieldDescriptorProto field in message.Field)
        {
            Add($"{name}.{field.Name}", file);
        }

        AddEnums(message.EnumType, $"{name}.", file);
        AddExtensions(message.Extension, $"{name}.", file);
        foreach (DescriptorProto nested in message.NestedType)
        {
            AddMessage(nested, $"{name}.", file);
        }
    }

    private void AddEnums(IEnumerable<EnumDescriptorProto> enums, string prefix, FileDescriptorProto file)
    {
        foreach (EnumDescriptorProto one in enums)
        {
            Add($"{prefix}{one.Name}", file);
        }
    }

    private void AddExtensions(
        IEnumerable<FieldDescriptorProto> extensions, string prefix, FileDescriptorProto file)
    {
        foreach (FieldDescriptorProto extension in extensions)
        {
            Add($"{prefix}{extension.Name}", file);
            string type = extension.Extendee.TrimStart('.');
            if (!_extensions.TryGetValue(type, out SortedDictionary<int, FileDescriptorProto>? known))
            {
                _extensions[type] = known = [];
            }

            known.TryAdd(extension.Number, file);
        }
    }

    private void Add(string name, FileDescriptorProto file) => _bySymbol.TryAdd(name, file);
}
