using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Returns the schema of the services of an endpoint to callers.</summary>
internal sealed class ReflectionService
{
    private const string Version1 = "grpc.reflection.v1";
    private const string AlphaName = "grpc.reflection.v1alpha.ServerReflection";
    private static readonly RpcSchema OwnSchema = RpcSchema.FromDescriptors(ReflectionReflection.Descriptor);

    private readonly ReflectionFiles _files;
    private readonly string[] _services;

    /// <param name="services">What is served beside it.</param>
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

    /// <summary>The method of version v1, whose authorization rules apply to all that shows the
    /// schema.</summary>
    public static string MethodName => $"{Version1}.ServerReflection/ServerReflectionInfo";

    /// <summary>The path of version v1alpha, whose messages have the same bytes.</summary>
    public static string AlphaPath => $"/{AlphaName}/ServerReflectionInfo";

    public ServerService Service { get; }

    // Copied from version 1, so that there is nothing to keep in step.
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
