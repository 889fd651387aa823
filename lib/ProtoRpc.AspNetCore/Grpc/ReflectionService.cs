using System.Collections.Concurrent;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>Returns the schema of the services of an endpoint to callers.</summary>
internal sealed class ReflectionService
{
    private const string Version1 = "grpc.reflection.v1";
    private const string AlphaName = "grpc.reflection.v1alpha.ServerReflection";
    private static readonly RpcSchema OwnSchema = RpcSchema.FromDescriptors(ReflectionReflection.Descriptor);

    private readonly ReflectionFiles _files;
    private readonly string[] _services;

    /// <param name="services">The services of the listener.</param>
    public ReflectionService(IReadOnlyList<ServerService> services)
    {
        Service = new ServerService(OwnSchema.GetService($"{Version1}.ServerReflection"), Guid.Empty);
        _files = new ReflectionFiles(
            [.. services.Select(s => s.Info.Schema).Distinct(), OwnSchema], [AlphaFile()]);
        _services = [.. services.Select(s => s.Info.FullName), Service.Info.FullName, AlphaName];
        Service.Add(new ServerMethod(
            Service.Info.Methods[0], AnswerAsync,
            new MessageParser<ServerReflectionRequest>(() => new ServerReflectionRequest()))
        {
            IsAlwaysAdmitted = true,
        });
    }

    /// <summary>The method of version v1, whose authorization rules apply to all views of schemas.</summary>
    public static string MethodName => $"{Version1}.ServerReflection/ServerReflectionInfo";

    /// <summary>The path of version v1alpha, whose messages have the same bytes.</summary>
    public static string AlphaPath => $"/{AlphaName}/ServerReflectionInfo";

    public ServerService Service { get; }

    // Version 1alpha has the same messages, so it is created from version 1.
    private static FileDescriptorProto AlphaFile()
    {
        FileDescriptorProto file = FileDescriptorProto.Parser.ParseFrom(
            ReflectionReflection.Descriptor.SerializedData);
        file.Name = file.Name.Replace("/v1/", "/v1alpha/", StringComparison.Ordinal);
        file.Package = "grpc.reflection.v1alpha";
        foreach (FieldDescriptorProto field in file.MessageType.SelectMany(m => m.Field))
        {
            field.TypeName = Alpha(field.TypeName);
        }

        foreach (MethodDescriptorProto method in file.Service.SelectMany(s => s.Method))
        {
            method.InputType = Alpha(method.InputType);
            method.OutputType = Alpha(method.OutputType);
        }

        return file;
    }

    private static string Alpha(string type) =>
        type.Replace($".{Version1}.", ".grpc.reflection.v1alpha.", StringComparison.Ordinal);

    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        while (await stream.ReadAsync().ConfigureAwait(false) is ServerReflectionRequest request)
        {
            ServerReflectionResponse reply = Answer(request);
            reply.ValidHost = request.Host;
            reply.OriginalRequest = request;
            await stream.WriteAsync(reply).ConfigureAwait(false);
        }
    }

    private ServerReflectionResponse Answer(ServerReflectionRequest request)
    {
        switch (request.MessageRequestCase)
        {
            case ServerReflectionRequest.MessageRequestOneofCase.ListServices:
                ListServiceResponse list = new();
                list.Service.AddRange(_services.Select(name => new ServiceResponse { Name = name }));
                return new ServerReflectionResponse { ListServicesResponse = list };
            case ServerReflectionRequest.MessageRequestOneofCase.FileByFilename:
                return Files(_files.FindFile(request.FileByFilename), $"file '{request.FileByFilename}'");
            case ServerReflectionRequest.MessageRequestOneofCase.FileContainingSymbol:
                return Files(
                    _files.FindSymbol(request.FileContainingSymbol),
                    $"symbol '{request.FileContainingSymbol}'");
            case ServerReflectionRequest.MessageRequestOneofCase.FileContainingExtension:
                ExtensionRequest wanted = request.FileContainingExtension;
                return Files(
                    _files.FindExtension(wanted.ContainingType, wanted.ExtensionNumber),
                    $"extension {wanted.ExtensionNumber} of '{wanted.ContainingType}'");
            case ServerReflectionRequest.MessageRequestOneofCase.AllExtensionNumbersOfType:
                return Numbers(request.AllExtensionNumbersOfType);
            default:
                return Error(RpcStatusCode.InvalidArgument, "The request is empty.");
        }
    }

    private static ServerReflectionResponse Files(IReadOnlyList<ByteString>? files, string what)
    {
        if (files is null)
        {
            return Error(RpcStatusCode.NotFound, $"There is no {what}.");
        }

        FileDescriptorResponse found = new();
        found.FileDescriptorProto.AddRange(files);
        return new ServerReflectionResponse { FileDescriptorResponse = found };
    }

    private ServerReflectionResponse Numbers(string type)
    {
        if (_files.NumbersOf(type) is not { } numbers)
        {
            return Error(RpcStatusCode.NotFound, $"There is no message '{type}'.");
        }

        ExtensionNumberResponse found = new() { BaseTypeName = type };
        found.ExtensionNumber.AddRange(numbers);
        return new ServerReflectionResponse { AllExtensionNumbersResponse = found };
    }

    private static ServerReflectionResponse Error(RpcStatusCode code, string message) =>
        new() { ErrorResponse = new ErrorResponse { ErrorCode = (int)code, ErrorMessage = message } };
}

/// <summary>The files of schemas, by their declarations.</summary>
internal sealed class ReflectionFiles
{
    private readonly Dictionary<string, FileDescriptorProto> _byName = new(StringComparer.Ordinal);

    // Serialized on demand.
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

    /// <summary>A file with its imports, the file first; null if it does not exist.</summary>
    public IReadOnlyList<ByteString>? FindFile(string name) => WithImports(_byName.GetValueOrDefault(name));

    /// <summary>The file that declares a service, method, message, field, enum or extension.</summary>
    public IReadOnlyList<ByteString>? FindSymbol(string name) =>
        WithImports(_bySymbol.GetValueOrDefault(name));

    /// <summary>The file that declares an extension.</summary>
    public IReadOnlyList<ByteString>? FindExtension(string type, int number) =>
        WithImports(_extensions.GetValueOrDefault(type)?.GetValueOrDefault(number));

    /// <summary>The numbers of a message's extensions; null if the message does not exist.</summary>
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
