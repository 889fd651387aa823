using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Descriptor sets.</summary>
internal sealed class DescriptorTarget : FuzzTarget
{
    public override string Name => "descriptors";

    public override string Promise => "a set is rejected, or its schema can be shown, used and exported";

    public override IMutator Mutator { get; } = new WireMutator();

    public override int? BytesPerByte => 4096;

    // Options and comments bring the descriptors of all options with them.
    public override int FixedBytes => 4 * 1024 * 1024;

    public override int MaxLength => 32 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        foreach (byte[] set in MessageTypes.RandomDescriptorSets)
        {
            yield return set;
        }

        foreach (string file in new[] { "tricky_names.proto", "parcels.proto", "custom_options.proto" })
        {
            string path = Path.Combine(AppContext.BaseDirectory, "Schema", "protos", file);
            yield return RpcSchema.Load([path]).ToDescriptorSet();
        }
    }

    public override byte[]? Generate(Random random) => RandomSchemas.Make(random).ToByteArray();

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("messages", n => Set(n, (file, i) => file.MessageType.Add(Message($"M{i}"))), 500);
        yield return new("fields", n => OneMessage(n, (message, i) => message.Field.Add(Field(i))), 500);
        yield return new("depth", n =>
        {
            DescriptorProto message = Message("M");
            for (int i = 0; i < 30; i++)
            {
                message = new DescriptorProto { Name = "M", NestedType = { message } };
            }

            return Set(n, (file, i) => file.MessageType.Add(
                new DescriptorProto { Name = $"D{i}", NestedType = { message.Clone() } }));
        }, 20);
        yield return new("files that import the one before", n =>
        {
            FileDescriptorSet set = new();
            for (int i = 0; i < n; i++)
            {
                FileDescriptorProto file = new() { Name = $"f{i}.proto", MessageType = { Message($"M{i}") } };
                if (i > 0)
                {
                    file.Dependency.Add($"f{i - 1}.proto");
                }

                set.File.Add(file);
            }

            return set.ToByteArray();
        }, 200);
        yield return new("files that all import the first", n =>
        {
            FileDescriptorSet set = new();
            for (int i = 0; i < n; i++)
            {
                set.File.Add(new FileDescriptorProto
                {
                    Name = $"f{i}.proto",
                    MessageType = { Message($"M{i}") }
                });
                if (i > 0)
                {
                    set.File[i].Dependency.Add("f0.proto");
                }
            }

            return set.ToByteArray();
        }, 200);
        yield return new("enum values", n => Set(1, (file, _) =>
        {
            EnumDescriptorProto made = new() { Name = "E" };
            for (int i = 0; i < n; i++)
            {
                made.Value.Add(new EnumValueDescriptorProto { Name = $"V{i}", Number = i });
            }

            file.EnumType.Add(made);
        }), 1000);
        yield return new("enum values of one bucket", n => Set(1, (file, _) =>
        {
            EnumDescriptorProto made = new() { Name = "E" };
            for (int i = 0; i < n; i++)
            {
                int number = (int)BinaryTarget.KeyOfBucket(i);
                made.Value.Add(new EnumValueDescriptorProto { Name = $"V{i}", Number = number });
            }

            file.EnumType.Add(made);
        }), 3000);
        yield return new("reserved names", n =>
            OneMessage(n, (message, i) => message.ReservedName.Add($"r{i}")), 1000);
        yield return new("reserved ranges", n => OneMessage(n, (message, i) => message.ReservedRange.Add(
            new DescriptorProto.Types.ReservedRange { Start = 2 * i + 1, End = 2 * i + 2 })), 1000);
        yield return new("extension ranges", n => OneMessage(n, (message, i) => message.ExtensionRange.Add(
            new DescriptorProto.Types.ExtensionRange { Start = 2 * i + 1, End = 2 * i + 2 })), 1000);
        yield return new("oneofs", n => OneMessage(n, (message, i) =>
        {
            FieldDescriptorProto field = Field(i);
            field.OneofIndex = i;
            message.OneofDecl.Add(new OneofDescriptorProto { Name = $"o{i}" });
            message.Field.Add(field);
        }), 100);
        yield return new("methods", n => Set(1, (file, _) =>
        {
            file.MessageType.Add(Message("M"));
            ServiceDescriptorProto service = new() { Name = "S" };
            for (int i = 0; i < n; i++)
            {
                service.Method.Add(new MethodDescriptorProto
                {
                    Name = $"Do{i}",
                    InputType = ".M",
                    OutputType = ".M"
                });
            }

            file.Service.Add(service);
        }), 500);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        RpcSchema? schema = null;
        if (!Accepts(
            () => schema = meter.Measure(() => RpcSchema.FromDescriptorSet(input)),
            RpcStatusCode.InvalidArgument))
        {
            return false;
        }

        byte[] set = schema!.ToDescriptorSet();
        RpcSchema again = RpcSchema.FromDescriptorSet(set);
        Require(
            Names(schema).SequenceEqual(Names(again)),
                "an exported schema has the same messages and services");
        // Some of what a descriptor says has no words in a .proto.
        _ = Accepts(() => schema.ToProtoTexts(), RpcStatusCode.InvalidArgument);
        foreach (RpcMessageInfo type in schema.Messages.Take(2))
        {
            _ = Accepts(
                () => new MessageMapper().ToObject(DynamicMessage.Parse(type, ReadOnlySpan<byte>.Empty)),
                RpcStatusCode.InvalidArgument);
            _ = new MessageMapper().Template(type);
        }

        foreach (RpcMethodInfo method in schema.Services.SelectMany(s => s.Methods).Take(4))
        {
            Require(schema.FindMethod(method.FullName) is not null, "a method is found by its name");
        }

        return true;
    }

    private static IEnumerable<string> Names(RpcSchema schema) =>
        schema.Messages.Select(m => m.FullName).Concat(schema.Services.Select(s => s.FullName)).Order();

    private static DescriptorProto Message(string name) => new() { Name = name, Field = { Field(0) } };

    private static FieldDescriptorProto Field(int index) => new()
    {
        Name = $"f{index}",
        Number = index < 18_000 ? index + 1 : index + 2001,
        Type = FieldDescriptorProto.Types.Type.Int32,
        Label = FieldDescriptorProto.Types.Label.Optional,
    };

    private static byte[] Set(int count, Action<FileDescriptorProto, int> add)
    {
        FileDescriptorProto file = new() { Name = "f.proto" };
        for (int i = 0; i < count; i++)
        {
            add(file, i);
        }

        return new FileDescriptorSet { File = { file } }.ToByteArray();
    }

    private static byte[] OneMessage(int count, Action<DescriptorProto, int> add)
    {
        DescriptorProto message = new() { Name = "M" };
        for (int i = 0; i < count; i++)
        {
            add(message, i);
        }

        return Set(1, (file, _) => file.MessageType.Add(message));
    }
}
