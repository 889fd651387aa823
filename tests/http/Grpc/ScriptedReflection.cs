using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>A gRPC server that serves its services well, and whose reflection answers as a script
/// says.</summary>
internal sealed class ScriptedReflection : IDisposable
{
    private const string Reflection = "grpc.reflection.v1.ServerReflection";

    private readonly RpcServer _server;

    public ScriptedReflection(ReflectionScript script, RpcSchema? schema = null)
    {
        schema ??= ReflectionScript.Schema;
        _server = RpcServer.Create(
            RpcSchema.FromDescriptors(ReflectionReflection.Descriptor), Reflection,
            new RpcServerOptions().WithHttp(new HttpServerOptions { EnableReflection = false }));
        foreach (RpcServiceInfo service in schema.Services)
        {
            _server.AddService(service);
            foreach (RpcMethodInfo method in service.Methods)
            {
                _server.HandleDynamic(method.Name, (_, request) => script.Reply(method, request));
            }
        }

        _server.HandleStreaming<ServerReflectionRequest, ServerReflectionResponse>(
            "ServerReflectionInfo",
            (context, requests) => AnswerAsync(script, requests, context.CancellationToken));
        _server.AddEndpoint("grpc://127.0.0.1:0").StartListening();
    }

    public RpcEndpoint Endpoint => _server.Endpoints[0];

    public void Dispose() => _server.Dispose();

    private static async IAsyncEnumerable<ServerReflectionResponse> AnswerAsync(
        ReflectionScript script, IAsyncEnumerable<ServerReflectionRequest> requests,
        [EnumeratorCancellation] CancellationToken cancellation)
    {
        await foreach (ServerReflectionRequest request in requests.WithCancellation(cancellation))
        {
            foreach (ServerReflectionResponse? reply in script.Answer(request))
            {
                if (reply is null)
                {
                    // Never answers.
                    await Task.Delay(Timeout.Infinite, cancellation);
                }

                yield return reply!;
            }

            if (script.EndsStreams)
            {
                yield break;
            }
        }
    }
}

/// <summary>What a reflection service knows and answers. A new one is that of a good server; each odd server
/// changes it.</summary>
internal sealed class ReflectionScript
{
    private static readonly (string Name, string Text)[] Sources =
    [
        ("shop/types.proto", """
            syntax = "proto3";
            package shop;
            message Item { string name = 1; Color color = 2; }
            enum Color { COLOR_NONE = 0; COLOR_RED = 1; }
            """),
        ("shop/notes.proto", """
            syntax = "proto2";
            package shop.notes;
            import "google/protobuf/descriptor.proto";
            extend google.protobuf.MethodOptions { optional string note = 50001; }
            """),
        ("shop/shop.proto", """
            syntax = "proto3";
            package shop;
            import "shop/types.proto";
            import "shop/notes.proto";
            message GetRequest { string name = 1; }
            message Text { string text = 1; }
            service Shop {
              rpc Get (GetRequest) returns (Item);
              rpc Say (Text) returns (Text) { option (notes.note) = "said"; }
            }
            """),
        ("other/other.proto", """
            syntax = "proto3";
            package other;
            message Echo { string text = 1; }
            service Other { rpc Send (Echo) returns (Echo); }
            """),
    ];

    private int _questions;

    /// <summary>The schema of the services themselves.</summary>
    public static RpcSchema Schema { get; } = Load(Sources);

    /// <summary>The services of the list.</summary>
    public List<string> Services { get; } = ["shop.Shop", "other.Other"];

    /// <summary>The files by the name that they are asked by.</summary>
    public Dictionary<string, FileDescriptorProto> Files { get; } = FilesOf(Schema);

    /// <summary>What is answered instead; null for the answer of a good server.</summary>
    public Func<ServerReflectionRequest, IEnumerable<ServerReflectionResponse?>?> Instead { get; set; } =
        _ => null;

    /// <summary>The reply of a method; null for the request.</summary>
    public Func<RpcMethodInfo, DynamicMessage, object?> Reply { get; set; } = (method, request) =>
        method.Name == "Get"
            ? new Dictionary<string, object?> { ["name"] = "pen", ["color"] = "COLOR_RED" }
            : new Dictionary<string, object?>
            {
                ["text"] = request.Get(method.RequestType.FindField("text")!),
            };

    /// <summary>Whether each answer ends its stream.</summary>
    public bool EndsStreams { get; set; }

    public int Questions => _questions;

    public FileDescriptorProto this[string file] => Files[file];

    public static RpcSchema Load(params IReadOnlyList<(string Name, string Text)> sources)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            foreach ((string name, string text) in sources)
            {
                string path = Path.Combine(folder.FullName, name);
                Directory.CreateDirectory(Path.GetDirectoryName(path)!);
                File.WriteAllText(path, text);
            }

            return RpcSchema.Load(
                sources.Select(source => Path.Combine(folder.FullName, source.Name)), [folder.FullName]);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    public static Dictionary<string, FileDescriptorProto> FilesOf(RpcSchema schema) =>
        FileDescriptorSet.Parser.ParseFrom(schema.ToDescriptorSet()).File
            .ToDictionary(file => file.Name, StringComparer.Ordinal);

    public static ServerReflectionResponse Send(params IEnumerable<FileDescriptorProto> files)
    {
        ServerReflectionResponse reply = new() { FileDescriptorResponse = new FileDescriptorResponse() };
        reply.FileDescriptorResponse.FileDescriptorProto.AddRange(files.Select(file => file.ToByteString()));
        return reply;
    }

    public static ServerReflectionResponse Fail(string message) =>
        new() { ErrorResponse = new ErrorResponse { ErrorCode = 5, ErrorMessage = message } };

    public static ServerReflectionResponse List(params IEnumerable<string> services)
    {
        ServerReflectionResponse reply = new() { ListServicesResponse = new ListServiceResponse() };
        reply.ListServicesResponse.Service.AddRange(
            services.Select(name => new ServiceResponse { Name = name }));
        return reply;
    }

    public IEnumerable<ServerReflectionResponse?> Answer(ServerReflectionRequest request)
    {
        Interlocked.Increment(ref _questions);
        return Instead(request) ?? [Good(request)];
    }

    /// <summary>The answer of a good server with these files.</summary>
    public ServerReflectionResponse Good(ServerReflectionRequest request)
    {
        FileDescriptorProto? file = request.MessageRequestCase switch
        {
            ServerReflectionRequest.MessageRequestOneofCase.FileByFilename =>
                Files.GetValueOrDefault(request.FileByFilename),
            ServerReflectionRequest.MessageRequestOneofCase.FileContainingSymbol =>
                Files.Values.FirstOrDefault(file => Declares(file, request.FileContainingSymbol)),
            ServerReflectionRequest.MessageRequestOneofCase.FileContainingExtension =>
                Files.Values.FirstOrDefault(file => file.Extension.Any(
                    extension => extension.Number == request.FileContainingExtension.ExtensionNumber
                        && extension.Extendee == $".{request.FileContainingExtension.ContainingType}")),
            _ => null,
        };
        ServerReflectionResponse reply =
            request.MessageRequestCase == ServerReflectionRequest.MessageRequestOneofCase.ListServices
                ? List(Services)
            : file is null ? Fail("not here")
            : Send(file);
        reply.OriginalRequest = request;
        return reply;
    }

    private static bool Declares(FileDescriptorProto file, string symbol) =>
        file.Service.Select(service => service.Name)
            .Concat(file.MessageType.Select(message => message.Name))
            .Concat(file.EnumType.Select(type => type.Name))
            .Concat(file.Extension.Select(extension => extension.Name))
            .Any(name => (file.Package.Length == 0 ? name : $"{file.Package}.{name}") == symbol);
}
