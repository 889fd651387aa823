using Google.Protobuf.Reflection;
using Label = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Label;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Makes descriptor sets of random messages, enums, oneofs, maps and services, all of them
/// valid.</summary>
internal static class RandomSchemas
{
    private const int Messages = 4;
    private const int Enums = 2;
    private const int MaxNumber = 536_870_911;

    private static readonly Type[] KeyTypes =
    [
        Type.Int32, Type.Int64, Type.Uint32, Type.Uint64, Type.Sint32, Type.Sint64, Type.Fixed32,
            Type.Fixed64,
        Type.Sfixed32, Type.Sfixed64, Type.Bool, Type.String,
    ];

    /// <summary>A descriptor set with one file.</summary>
    public static FileDescriptorSet Make(Random random)
    {
        bool isProto3 = random.Next(2) == 0;
        FileDescriptorProto file = new()
        {
            Name = $"random{random.Next(1000)}.proto",
            Package = random.Next(4) == 0 ? "" : "random.schema",
            Syntax = isProto3 ? "proto3" : "proto2",
        };
        for (int i = 0; i < Enums; i++)
        {
            file.EnumType.Add(EnumOf(random, i));
        }

        for (int i = 0; i < Messages; i++)
        {
            file.MessageType.Add(MessageOf(random, file, i, isProto3));
        }

        ServiceDescriptorProto service = new() { Name = "Service" };
        for (int i = 0; i < 2; i++)
        {
            service.Method.Add(new MethodDescriptorProto
            {
                Name = $"Method{i}",
                InputType = NameOf(file, $"M{random.Next(Messages)}"),
                OutputType = NameOf(file, $"M{random.Next(Messages)}"),
                ClientStreaming = random.Next(4) == 0,
                ServerStreaming = random.Next(4) == 0,
            });
        }

        file.Service.Add(service);
        return new FileDescriptorSet { File = { file } };
    }

    private static string NameOf(FileDescriptorProto file, string name) =>
        file.Package.Length == 0 ? $".{name}" : $".{file.Package}.{name}";

    private static EnumDescriptorProto EnumOf(Random random, int index)
    {
        EnumDescriptorProto made = new() { Name = $"E{index}" };
        HashSet<int> numbers = [0];
        made.Value.Add(new EnumValueDescriptorProto { Name = $"E{index}_0", Number = 0 });
        for (int i = 1; i < 4; i++)
        {
            int number = random.Next(2) == 0 ? i : random.Next(int.MinValue, int.MaxValue);
            if (numbers.Add(number))
            {
                made.Value.Add(new EnumValueDescriptorProto { Name = $"E{index}_{i}", Number = number });
            }
        }

        return made;
    }

    private static DescriptorProto MessageOf(
        Random random, FileDescriptorProto file, int index, bool isProto3)
    {
        DescriptorProto message = new() { Name = $"M{index}" };
        HashSet<int> numbers = [];
        for (int i = random.Next(1, 14); i > 0; i--)
        {
            int number = random.Next(4) > 0 ? random.Next(1, 40) : random.Next(1, MaxNumber + 1);
            if (number is >= 19000 and <= 19999 || !numbers.Add(number))
            {
                continue;
            }

            AddField(random, file, message, number, isProto3);
        }

        // A oneof has its fields side by side.
        if (random.Next(2) == 0)
        {
            int oneof = message.OneofDecl.Count;
            message.OneofDecl.Add(new OneofDescriptorProto { Name = "choice" });
            for (int i = 0; i < 3; i++)
            {
                int number = 100 + i;
                if (numbers.Add(number))
                {
                    FieldDescriptorProto field = Field(random, file, number);
                    field.OneofIndex = oneof;
                    message.Field.Add(field);
                }
            }
        }

        return message;
    }

    private static void AddField(
        Random random, FileDescriptorProto file, DescriptorProto message, int number, bool isProto3)
    {
        FieldDescriptorProto field = Field(random, file, number);
        switch (random.Next(8))
        {
            case 0 or 1:
                field.Label = Label.Repeated;
                if (IsPackable(field.Type) && random.Next(2) == 0)
                {
                    field.Options = new FieldOptions { Packed = random.Next(2) == 0 };
                }

                break;
            case 2:
                MakeMap(random, file, message, field);
                break;
            case 3 when !isProto3:
                // Only of scalars: required messages may have no end.
                field.Label = field.Type == Type.Message ? Label.Optional : Label.Required;
                break;
            case 4 when !isProto3:
                field.Type = Type.Group;
                string name = $"G{number}";
                field.Name = $"g{number}";
                field.TypeName = $"{NameOf(file, message.Name)}.{name}";
                field.JsonName = field.Name;
                message.NestedType.Add(new DescriptorProto
                {
                    Name = name,
                    Field = { Field(random, file, 1), Field(random, file, 2) },
                });
                break;
            default:
                break;
        }

        message.Field.Add(field);
    }

    private static void MakeMap(
        Random random, FileDescriptorProto file, DescriptorProto message, FieldDescriptorProto field)
    {
        FieldDescriptorProto value = Field(random, file, 2);
        (value.Name, value.JsonName) = ("value", "value");
        string name = $"F{field.Number}Entry";
        message.NestedType.Add(new DescriptorProto
        {
            Name = name,
            Options = new MessageOptions { MapEntry = true },
            Field =
            {
                new FieldDescriptorProto
                {
                    Name = "key",
                    JsonName = "key",
                    Number = 1,
                    Label = Label.Optional,
                    Type = KeyTypes[random.Next(KeyTypes.Length)],
                },
                value,
            },
        });
        (field.Label, field.Type) = (Label.Repeated, Type.Message);
        field.TypeName = $"{NameOf(file, message.Name)}.{name}";
    }

    private static FieldDescriptorProto Field(Random random, FileDescriptorProto file, int number)
    {
        Type type = (Type)random.Next(1, 19);
        type = type == Type.Group ? Type.String : type;
        FieldDescriptorProto field = new()
        {
            Name = $"f{number}",
            JsonName = $"f{number}",
            Number = number,
            Label = Label.Optional,
            Type = type,
        };
        if (type == Type.Message)
        {
            field.TypeName = NameOf(file, $"M{random.Next(Messages)}");
        }
        else if (type == Type.Enum)
        {
            field.TypeName = NameOf(file, $"E{random.Next(Enums)}");
        }

        return field;
    }

    private static bool IsPackable(Type type) =>
        type is not (Type.String or Type.Bytes or Type.Message or Type.Group);
}
