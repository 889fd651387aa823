using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Benchmarks.Scale;

/// <summary>Schemas: their messages, their files, their services.</summary>
internal static class SchemaSubjects
{
    public static IReadOnlyList<ScaleSubject> All { get; } =
    [
        new("load a schema", "messages", 160, 10_240, messages => Load(Wide(messages))),
        new("load a chain of imports", "files", 64, 1024, files => Load(Deep(files))),
        new("start and stop a listener", "methods", 64, 4096, StartAndStop),
        new("fetch a schema by reflection", "services", 16, 512, Fetch),
    ];

    /// <summary>A schema of one service for each file, with so many methods.</summary>
    public static RpcSchema Services(int services, int methods)
    {
        FileDescriptorSet set = new();
        for (int i = 0; i < services; i++)
        {
            FileDescriptorProto file = new() { Name = $"s{i}.proto", Package = $"s{i}", Syntax = "proto3" };
            file.MessageType.Add(Message("M", 0));
            ServiceDescriptorProto service = new() { Name = "S" };
            for (int m = 0; m < methods; m++)
            {
                service.Method.Add(new MethodDescriptorProto
                {
                    Name = $"Do{m}",
                    InputType = $".s{i}.M",
                    OutputType = $".s{i}.M",
                });
            }

            file.Service.Add(service);
            set.File.Add(file);
        }

        return RpcSchema.FromDescriptorSet(set.ToByteArray());
    }

    private static ScaleCase Load(byte[] set) => new(() => RpcSchema.FromDescriptorSet(set));

    private static ScaleCase StartAndStop(int methods)
    {
        RpcSchema schema = Services(1, methods);
        return new(() => RpcServer.Create(schema)
            .HandleAll((_, request) => new(request))
            .AddEndpoint("inproc://scale-methods")
            .StartListening()
            .Dispose());
    }

    private static ScaleCase Fetch(int services)
    {
        RpcSchema schema = Services(services, 2);
        RpcServer server = RpcServer.Create(schema, "s0.S", new RpcServerOptions().WithHttp())
            .HandleAll((_, request) => new(request))
            .AddEndpoint("grpc://127.0.0.1:0");
        for (int i = 1; i < services; i++)
        {
            server.AddService(schema.GetService($"s{i}.S"));
        }

        server.StartListening();
        RpcClient client = RpcClient.Connect(server.Endpoints[0]);
        return new(() => client.FetchSchema(), server, client);
    }

    // One file, whose messages refer to each other.
    private static byte[] Wide(int messages)
    {
        FileDescriptorProto file = new() { Name = "wide.proto", Package = "wide", Syntax = "proto3" };
        for (int i = 0; i < messages; i++)
        {
            DescriptorProto message = Message($"M{i}", 6);
            message.Field.Add(new FieldDescriptorProto
            {
                Name = "other",
                Number = 7,
                Type = FieldDescriptorProto.Types.Type.Message,
                TypeName = $".wide.M{i * 7 % messages}",
                Label = FieldDescriptorProto.Types.Label.Repeated,
            });
            file.MessageType.Add(message);
        }

        return new FileDescriptorSet { File = { file } }.ToByteArray();
    }

    // Each file imports the one before.
    private static byte[] Deep(int files)
    {
        FileDescriptorSet set = new();
        for (int i = 0; i < files; i++)
        {
            FileDescriptorProto file = new() { Name = $"d{i}.proto", Package = $"d{i}", Syntax = "proto3" };
            file.MessageType.Add(Message("M", 3));
            if (i > 0)
            {
                file.Dependency.Add($"d{i - 1}.proto");
            }

            set.File.Add(file);
        }

        return set.ToByteArray();
    }

    private static DescriptorProto Message(string name, int fields)
    {
        DescriptorProto message = new() { Name = name };
        for (int i = 1; i <= fields; i++)
        {
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = i,
                Type = FieldDescriptorProto.Types.Type.String,
                Label = FieldDescriptorProto.Types.Label.Optional,
            });
        }

        return message;
    }
}
