using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A client that asks a hostile server for its schema. An input is the stream of the server's
/// replies,
/// each a field of a message, so that they are changed as messages are.</summary>
internal sealed class ReflectionTarget : FuzzTarget
{
    private const byte GrpcStatusOk = 0;
    private readonly RepliesHandler _server = new();

    public override string Name => "reflection";

    public override string Promise => "the client returns a schema or an error for each reply of the server";

    public override bool IsGuided => false;

    public override IMutator Mutator { get; } = new WireMutator();

    public override int MaxLength => 16 * 1024;

    public override IEnumerable<byte[]> Seeds() => MessageTypes.RandomDescriptorSets.Select(Conversation);

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("services", n => Many(n, (file, i) =>
            file.Service.Add(new ServiceDescriptorProto { Name = $"S{i}" })), 500);
        yield return new("imports that are not there", n => Many(n, (file, i) =>
            file.Dependency.Add($"missing{i}.proto")), 500);
    }

    public override byte[]? Generate(Random random) => Conversation(RandomSchemas.Make(random).ToByteArray());

    public override bool Run(byte[] input, Meter meter)
    {
        List<byte> frames = [];
        foreach (WireField field in WireField.Split(input))
        {
            byte[] prefix = new byte[GrpcFraming.PrefixLength];
            GrpcFraming.WritePrefix(prefix, flags: 0, field.Value.Length);
            frames.AddRange(prefix);
            frames.AddRange(field.Value);
        }

        _server.Input = RepliesHandler.Reply(0, 0, [GrpcStatusOk], [.. frames]);
        using RpcClient client = RpcClient.Connect(
            RpcEndpoint.Parse("grpc://127.0.0.1:1"),
            new RpcClientOptions { HttpHandler = () => _server, Lazy = true });
        return Accepts(() => client.FetchSchema());
    }

    private static byte[] Conversation(byte[] descriptorSet)
    {
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(descriptorSet);
        ServerReflectionResponse list = new() { ListServicesResponse = new ListServiceResponse() };
        ServerReflectionResponse files = new() { FileDescriptorResponse = new FileDescriptorResponse() };
        foreach (FileDescriptorProto file in set.File)
        {
            files.FileDescriptorResponse.FileDescriptorProto.Add(file.ToByteString());
            list.ListServicesResponse.Service.AddRange(file.Service.Select(service => new ServiceResponse
            {
                Name = file.Package.Length == 0 ? service.Name : $"{file.Package}.{service.Name}",
            }));
        }

        return WireField.Join([
            new WireField(1, 2, list.ToByteArray()), new WireField(1, 2, files.ToByteArray()),
            .. Enumerable.Repeat(new WireField(1, 2, files.ToByteArray()), 3),
        ]);
    }

    private static byte[] Many(int count, Action<FileDescriptorProto, int> add)
    {
        FileDescriptorProto file = new()
        {
            Name = "f.proto",
            Service = { new ServiceDescriptorProto { Name = "S" } }
        };
        for (int i = 0; i < count; i++)
        {
            add(file, i);
        }

        byte[] replies = Conversation(new FileDescriptorSet { File = { file } }.ToByteArray());
        byte[] error = new ServerReflectionResponse { ErrorResponse = new ErrorResponse { ErrorCode = 5 } }
            .ToByteArray();
        return [.. replies, .. Enumerable.Repeat(new WireField(1, 2, error), count).SelectMany(
            field => WireField.Join([field]))];
    }
}
