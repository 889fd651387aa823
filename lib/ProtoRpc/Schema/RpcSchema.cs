using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>A set of .proto files, linked: services, messages, enums and extensions by name.</summary>
/// <remarks>
/// Immutable and thread-safe. Names are looked up exactly first, as a full name and then as a bare name, and
/// then case-insensitively in the same order. A leading dot is ignored.
/// </remarks>
/// <example><code>
/// RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
/// foreach (RpcMethodInfo method in schema.GetService("shop.Orders").Methods)
/// {
///     Console.WriteLine(method.FullName);
/// }
/// </code></example>
public sealed class RpcSchema
{
    private readonly SchemaIndex _index;
    private readonly IReadOnlyList<string> _warnings;
    private readonly IReadOnlyList<RpcMethodInfo> _methods;
    private readonly Dictionary<string, RpcMethodInfo> _methodsByName;
    private readonly Lazy<ProtoTextNames> _textNames;

    internal RpcSchema(
        IReadOnlyList<SchemaFile> files, IReadOnlyList<string> rootFiles, IReadOnlyList<string> warnings,
        IReadOnlySet<string>? served = null)
    {
        SchemaFiles = files;
        _warnings = warnings;
        // Arrays, because PowerShell cannot index the list type of a collection expression.
        Files = files.Select(f => f.Descriptor).ToArray();
        RootFiles = rootFiles;
        _index = new SchemaIndex(this, files);
        Services = SchemaIndex.MakeServices(this, files);
        ServedServices = served is null
            ? Services
            : [.. Services.Where(service => served.Contains(service.FullName))];
        _methods = [.. Services.SelectMany(s => s.Methods)];
        _methodsByName = new Dictionary<string, RpcMethodInfo>(StringComparer.Ordinal);
        foreach (RpcMethodInfo method in _methods)
        {
            _methodsByName.TryAdd(method.FullName, method);
        }

        _textNames = new Lazy<ProtoTextNames>(() => new ProtoTextNames(files));
    }

    /// <summary>The files; imports come before the files that import them.</summary>
    public IReadOnlyList<FileDescriptor> Files { get; }

    /// <summary>The names of the files that were loaded explicitly, without their imports.</summary>
    public IReadOnlyList<string> RootFiles { get; }

    /// <summary>Files of folders and wildcards that were omitted because of errors, files whose options were
    /// omitted because of missing imports, the warnings of protoc, as <c>file:line:column: text</c>, and the
    /// parts of the schema that a server did not send.</summary>
    public IReadOnlyList<string> Warnings => WithGaps(_warnings);

    /// <summary>The services of all files, in declared order.</summary>
    public IReadOnlyList<RpcServiceInfo> Services { get; }

    /// <summary>The services that a server lists; all services if no server was asked.</summary>
    internal IReadOnlyList<RpcServiceInfo> ServedServices { get; }

    /// <summary>The messages of all files, nested ones after their parent, without map entries. Those of
    /// google/protobuf/*.proto come last.</summary>
    public IReadOnlyList<RpcMessageInfo> Messages => _index.Messages;

    /// <summary>The enums of all files. Those of google/protobuf/*.proto come last.</summary>
    public IReadOnlyList<RpcEnumInfo> Enums => _index.Enums;

    /// <summary>The files with their sources, imports first.</summary>
    internal IReadOnlyList<SchemaFile> SchemaFiles { get; }

    /// <summary>The parts that a server did not send; null for none.</summary>
    internal SchemaGaps? Gaps { get; init; }

    /// <summary>Further types of the server that sent the schema; null if no server is asked.</summary>
    internal FurtherTypes? Further { get; set; }

    /// <summary>The part of <see cref="Warnings"/> that names files which were left out, or which a server
    /// did not send.</summary>
    internal IReadOnlyList<string> LeftOut
    {
        get => WithGaps(field);
        init;
    } = [];

    /// <summary>The part of <see cref="Warnings"/> about missing files and options.</summary>
    internal IReadOnlyList<string> Losses
    {
        get => WithGaps(field);
        init;
    } = [];

    /// <summary>The full paths of the files on this machine that it was read from.</summary>
    internal IReadOnlyList<string> SourcePaths { get; init; } = [];

    /// <summary>Shortens the names in the .proto text.</summary>
    internal ProtoTextNames TextNames => _textNames.Value;

    /// <summary>Compiles .proto files and reads descriptor sets; the file extension decides.</summary>
    /// <param name="paths">
    /// Files: .proto, or .pb, .protoset, .desc, .binpb, .bin, .fds for a FileDescriptorSet, which may be
    /// compressed with gzip. <see cref="RpcSchemaLoader"/> also reads sets in JSON and text. <c>*</c> and
    /// <c>?</c> stand for any part of a name, <c>**</c> for any number of folders. A
    /// file with errors that such a path matches is left out with a warning, if another file is read.
    /// </param>
    /// <param name="importPaths">
    /// The folders to search for imports, and for names of files that the base folder does not have, in
    /// order. The folder of a .proto file that is not in them is added automatically, and the well-known
    /// imports (google/protobuf, google/api, google/rpc, google/type) are always found.
    /// </param>
    /// <param name="baseFolder">The base of relative paths; null for the process's current folder.</param>
    /// <exception cref="RpcException">InvalidArgument or NotFound;
    /// protoc's errors with file, line and column.
    /// </exception>
    public static RpcSchema Load(
        IEnumerable<string> paths, IEnumerable<string>? importPaths = null, string? baseFolder = null) =>
        SchemaLoader.LoadAsync(
            paths, SchemaLoader.Files, RequestOf(importPaths, baseFolder), CancellationToken.None)
            .GetAwaiter().GetResult();

    /// <summary>Reads a serialized FileDescriptorSet, whose files may have any order. The set may be
    /// compressed with gzip.</summary>
    /// <remarks>The root files are those that no other file of the set imports.</remarks>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a FileDescriptorSet, or it does not
    /// link.</exception>
    public static RpcSchema FromDescriptorSet(ReadOnlySpan<byte> bytes)
    {
        IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(bytes.ToArray(), "the descriptor set");
        return new RpcSchema(DescriptorLinker.Link(files), DescriptorLinker.FindRoots(files), []);
    }

    /// <summary>Creates a schema from generated descriptors, with all their imports.</summary>
    public static RpcSchema FromDescriptors(params IEnumerable<FileDescriptor> files)
    {
        IReadOnlyList<FileDescriptor> roots = [.. files];
        return new RpcSchema(
            DescriptorLinker.Wrap(
                roots), [.. roots.Select(r => r.Name).Distinct(StringComparer.Ordinal)], []);
    }

    /// <summary>Creates a schema with the services of this one, and those that only another one has, with the
    /// types that they need.</summary>
    /// <param name="other">The other schema. Declarations that both have are taken from this one.</param>
    /// <param name="label">The prefix for the name of a file of the other schema, if this schema has a
    /// different file of the same name.</param>
    public RpcSchema CompleteWith(RpcSchema other, string label)
    {
        ArgumentNullException.ThrowIfNull(other);
        ArgumentException.ThrowIfNullOrEmpty(label);
        RpcSchema complete = new SchemaCompletion(this, label).Add(other);
        complete.Further = Further ?? other.Further;
        return complete;
    }

    /// <summary>Finds a service by its full name, or by its bare name if it is unique.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names;
    /// InvalidArgument where several have the name.
    /// </exception>
    public RpcServiceInfo GetService(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return NameLookup.Find("service", name.TrimStart('.'), Services, s => s.FullName, s => s.Name)
            ?? throw SchemaError.NameNotFound(
                "service", name, [.. Services.Select(s => s.FullName)], LeftOut);
    }

    /// <summary>Finds a message by its full name, or by its bare name if it is unique.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names;
    /// InvalidArgument where several have the name.
    /// </exception>
    public RpcMessageInfo GetMessage(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        string trimmed = name.TrimStart('.');
        return _index.FindMessage(trimmed)
            ?? NameLookup.Find("message", trimmed, Messages, m => m.FullName, m => m.Name)
            ?? throw SchemaError.NameNotFound(
                "message", name, [.. Messages.Select(m => m.FullName)], LeftOut);
    }

    /// <summary>Finds an enum by its full name, or by its bare name if it is unique.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names;
    /// InvalidArgument where several have the name.
    /// </exception>
    public RpcEnumInfo GetEnum(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return NameLookup.Find("enum", name.TrimStart('.'), Enums, e => e.FullName, e => e.Name)
            ?? throw SchemaError.NameNotFound("enum", name, [.. Enums.Select(e => e.FullName)], LeftOut);
    }

    /// <summary>Finds a message by its exact full name; null if there is none.</summary>
    public RpcMessageInfo? FindMessage(string fullName) => _index.FindMessage(fullName);

    /// <summary>Finds the message type of an Any, here or in another schema; otherwise asks the servers that
    /// sent the schemas. Null if it is unknown.</summary>
    internal RpcMessageInfo? FindInAny(string fullName, RpcSchema? first = null) =>
        first?.FindMessage(fullName) ?? FindMessage(fullName)
        ?? first?.Further?.FindMessage(fullName) ?? Further?.FindMessage(fullName);

    /// <summary>Finds a method by <c>package.Service/Method</c>, <c>Service/Method</c> or
    /// <c>package.Service.Method</c>, or by <c>Method</c> if it is unique.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names;
    /// InvalidArgument where several have the name.
    /// </exception>
    public RpcMethodInfo GetMethod(string name) => FindMethod(name)
        ?? throw SchemaError.NameNotFound("method", name, [.. _methods.Select(m => m.FullName)], LeftOut);

    /// <summary>Finds a method like <see cref="GetMethod"/>; null if no service has it.</summary>
    /// <exception cref="RpcException">InvalidArgument: several services have a method with this
    /// name.</exception>
    public RpcMethodInfo? FindMethod(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        // A gRPC path starts with a slash, a descriptor's name with a dot.
        string trimmed = name.TrimStart('/', '.');
        int slash = trimmed.LastIndexOf('/');
        int cut = slash >= 0 ? slash : trimmed.LastIndexOf('.');
        string full = cut < 0 ? trimmed : $"{trimmed[..cut]}/{trimmed[(cut + 1)..]}";
        return _methodsByName.GetValueOrDefault(full)
            ?? NameLookup.Find(
                "method", full, _methods, m => m.FullName, m =>
                    cut < 0 ? m.Name : $"{m.Service.Name}/{m.Name}");
    }

    /// <summary>The schema as a serialized FileDescriptorSet with all imports.</summary>
    public byte[] ToDescriptorSet()
    {
        const int FileFieldNumber = 1;
        using MemoryStream bytes = new();
        using (CodedOutputStream output = new(bytes, leaveOpen: true))
        {
            foreach (SchemaFile file in SchemaFiles)
            {
                // The original bytes, so that fields which this version of the descriptors does not declare
                // are kept.
                output.WriteTag(FileFieldNumber, WireFormat.WireType.LengthDelimited);
                output.WriteBytes(file.Bytes);
            }
        }

        return bytes.ToArray();
    }

    /// <summary>A file as .proto text, which protoc compiles to the same descriptor.</summary>
    /// <param name="fileName">The file's name in the schema, as <see cref="RootFiles"/> has it.</param>
    /// <exception cref="RpcException">NotFound, with the nearest names.</exception>
    public string ToProtoText(string fileName)
    {
        SchemaFile file = SchemaFiles.FirstOrDefault(f => f.Name == fileName)
            ?? throw SchemaError.NameNotFound(
                "file", fileName, [.. SchemaFiles.Select(f => f.Name)], LeftOut);
        return ProtoTextWriter.Write(this, file);
    }

    /// <summary>All files as .proto text by name, except those that every protoc contains.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> ToProtoTexts() =>
    [
        .. SchemaFiles
            .Where(f => !WellKnownFiles.Contains(f.Name) || RootFiles.Contains(f.Name))
            .Select(f => KeyValuePair.Create(f.Name, ProtoTextWriter.Write(this, f))),
    ];

    /// <summary>Writes the files of <see cref="ToProtoTexts"/> below a folder, which is created if
    /// necessary.</summary>
    /// <returns>The paths of the files.</returns>
    /// <exception cref="RpcException">InvalidArgument: the name of a file leads out of the
    /// folder.</exception>
    public IReadOnlyList<string> WriteProtoFiles(string folder) => ProtoFolder.Write(folder, ToProtoTexts());

    private IReadOnlyList<string> WithGaps(IReadOnlyList<string> warnings) =>
        Gaps is null ? warnings : [.. warnings, .. Gaps.Warn(this)];

    internal static SchemaRequest RequestOf(IEnumerable<string>? importPaths, string? baseFolder) =>
        new([.. importPaths ?? []], Path.GetFullPath(baseFolder ?? Environment.CurrentDirectory));

    internal RpcMessageInfo MessageOf(MessageDescriptor descriptor) =>
        _index.FindMessage(descriptor.FullName)!;

    internal RpcEnumInfo EnumOf(EnumDescriptor descriptor) => _index.FindEnum(descriptor.FullName)!;

    internal IReadOnlyList<RpcFieldInfo> ExtensionsOf(string messageName) => _index.ExtensionsOf(messageName);
}

/// <summary>The declarations of a schema by full name. Fields are created on demand.</summary>
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

        // Imported files come before the files that import them. Without sorting, lists of types would begin
        // with google.protobuf.Any, not with the user's types.
        _messageList = WithWellKnownLast(_messageList, message => message.FileName);
        _enumList = WithWellKnownLast(_enumList, type => type.FileName);
    }

    /// <summary>All but map entries, nested ones after their parent.</summary>
    public IReadOnlyList<RpcMessageInfo> Messages => _messageList;

    public IReadOnlyList<RpcEnumInfo> Enums => _enumList;

    // Not sorted with a bool as the key, because the runtime compiles that code when it first runs.
    private static List<T> WithWellKnownLast<T>(List<T> types, Func<T, string> fileOf) =>
    [
        .. types.Where(type => !WellKnownFiles.Contains(fileOf(type))),
        .. types.Where(type => WellKnownFiles.Contains(fileOf(type))),
    ];

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

    // The recursion is limited by the parser of descriptors, which rejects more than 100 levels.
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

/// <summary>The one order in which services, messages, enums and methods are found by name.</summary>
internal static class NameLookup
{
    /// <summary>An item by full name, by bare name, and by either without regard to case; or null.</summary>
    /// <exception cref="RpcException">InvalidArgument where several items have the bare name.</exception>
    public static T? Find<T>(
        string kind, string name, IReadOnlyList<T> items, Func<T, string> fullName, Func<T, string> bareName)
        where T : class
    {
        return Find(StringComparison.Ordinal) ?? Find(StringComparison.OrdinalIgnoreCase);

        T? Find(StringComparison comparison) =>
            Single(kind, name, items, fullName, comparison)
            ?? Single(kind, name, items, bareName, comparison, fullName);
    }

    private static T? Single<T>(
        string kind, string name, IReadOnlyList<T> items, Func<T, string> nameOf, StringComparison comparison,
        Func<T, string>? fullName = null)
        where T : class
    {
        T[] found = [.. items.Where(i => nameOf(i).Equals(name, comparison))];
        return found.Length > 1
            ? throw SchemaError.Ambiguous(kind, name, found.Select(fullName ?? nameOf))
            : found.FirstOrDefault();
    }
}
