using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Label = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Label;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

/// <summary>Schemas as a hostile server may send them: small, and made to cost much.</summary>
public static class HostileTypeGraphTests
{
    // Numbers of fields that protoc reserves.
    private const int FirstReserved = 19_000;
    private const int Reserved = 1000;

    // One large schema takes about as long as this many small ones that are together as large. Where the
    // work grows with the square it takes as many times as long; the bound is between.
    private const int Shares = 16;
    private const int MostTimes = 5;

    [Fact]
    public static void A_chain_of_twenty_thousand_types_does_not_overflow_the_stack()
    {
        const int Count = 20_000;
        FileDescriptorProto file = new() { Name = "chain.proto" };
        for (int i = 0; i < Count; i++)
        {
            DescriptorProto message = new() { Name = $"M{i}" };
            if (i + 1 < Count)
            {
                message.Field.Add(Field("next", 1, $".M{i + 1}"));
            }

            file.MessageType.Add(message);
        }

        file.MessageType[^1].Field.Add(Field("must", 1, typeName: null, Label.Required));
        RpcMessageInfo first = Load(file).GetMessage("M0");

        DynamicMessage.Parse(first, [0x0A, 0x00]).CheckRequired();
    }

    [Fact]
    public static void Thousands_of_types_that_hold_each_other_are_walked_once()
    {
        const int Count = 5_000;
        DescriptorProto root = new() { Name = "Root" };
        FileDescriptorProto file = new() { Name = "star.proto", MessageType = { root } };
        for (int i = 0; i < Count; i++)
        {
            root.Field.Add(Field($"f{i}", i + 1, $".M{i}"));
            file.MessageType.Add(
                new DescriptorProto { Name = $"M{i}", Field = { Field("root", 1, ".Root") } });
        }

        DynamicMessage message = new(Load(file).GetMessage("Root"));

        long allocated = AllocatedBy(message.CheckRequired);

        Assert.InRange(allocated, 0, 100_000_000);
    }

    [Fact]
    public static void A_required_field_is_found_behind_types_that_hold_each_other()
    {
        FileDescriptorProto file = new()
        {
            Name = "ring.proto",
            MessageType =
            {
                new DescriptorProto
                {
                    Name = "A", Field = { Field("b", 1, ".B"), Field("free", 2, ".Free") },
                },
                new DescriptorProto
                {
                    Name = "B", Field = { Field("a", 1, ".A"), Field("must", 2, ".Must") },
                },
                new DescriptorProto
                {
                    Name = "Must", Field = { Field("x", 1, typeName: null, Label.Required) },
                },
                new DescriptorProto { Name = "Free" },
            },
        };
        RpcMessageInfo type = Load(file).GetMessage("A");

        RpcException e = Assert.Throws<RpcException>(
            () => DynamicMessage.Parse(type, [0x0A, 0x06, 0x0A, 0x04, 0x0A, 0x02, 0x12, 0x00]));

        Assert.Equal("A.b.a.b.must.x", e.FieldPath);
        DynamicMessage.Parse(type, [0x12, 0x00]).CheckRequired();
    }

    [Fact]
    public static void Extensions_with_falling_numbers_take_no_longer_than_with_rising_ones()
    {
        const int Count = 200_000;
        LoadTime(i => i + 1, 1000);

        // The best of three, for other tests run at the same time; the first that is good enough will do.
        TimeSpan rising = LoadTime(i => i + 1, Count);
        TimeSpan falling = LoadTime(i => Count - i, Count);
        for (int i = 1; i < 3 && falling > 4 * rising; i++)
        {
            rising = Min(rising, LoadTime(n => n + 1, Count));
            falling = Min(falling, LoadTime(n => Count - n, Count));
        }

        Assert.InRange(falling, TimeSpan.Zero, 4 * rising);

        static TimeSpan LoadTime(Func<int, int> numberOf, int count)
        {
            DescriptorProto root = new()
            {
                Name = "Root",
                ExtensionRange = { new DescriptorProto.Types.ExtensionRange { Start = 1, End = 1 << 28 } },
            };
            FileDescriptorProto file = new() { Name = "extensions.proto", MessageType = { root } };
            for (int i = 0; i < count; i++)
            {
                FieldDescriptorProto extension = Field($"e{i}", numberOf(i));
                extension.Extendee = ".Root";
                file.Extension.Add(extension);
            }

            Stopwatch watch = Stopwatch.StartNew();
            Load(file);
            return watch.Elapsed;
        }
    }

    [Fact]
    public static void A_oneof_of_tens_of_thousands_of_fields_is_laid_out_in_time()
    {
        TakesTimeInProportion(60_000, count =>
        {
            DescriptorProto root = new()
            {
                Name = "Root",
                OneofDecl = { new OneofDescriptorProto { Name = "o" } },
            };
            for (int i = 0; i < count; i++)
            {
                FieldDescriptorProto field = Field($"f{i}", NumberOf(i));
                field.OneofIndex = 0;
                root.Field.Add(field);
            }

            RpcMessageInfo type = Load(
                new FileDescriptorProto { Name = "oneof.proto", MessageType = { root } }).GetMessage("Root");
            Stopwatch watch = Stopwatch.StartNew();

            DynamicMessage message = DynamicMessage.Parse(type, [0x08, 0x01, 0x10, 0x02]);

            TimeSpan time = watch.Elapsed;
            Assert.False(message.Has(type.FindField("f0")!));
            Assert.True(message.Has(type.FindField("f1")!));
            return time;
        });
    }

    [Fact]
    public static void Thousands_of_fields_of_one_large_closed_enum_share_its_numbers()
    {
        TakesTimeInProportion(20_000, count =>
        {
            EnumDescriptorProto type = new() { Name = "E" };
            DescriptorProto root = new() { Name = "Root" };
            for (int i = 0; i < count; i++)
            {
                type.Value.Add(new EnumValueDescriptorProto { Name = $"V{i}", Number = i });
                FieldDescriptorProto field = Field($"f{i}", NumberOf(i), ".E");
                field.Type = Type.Enum;
                field.DefaultValue = $"V{count - 1}";
                root.Field.Add(field);
            }

            Stopwatch watch = Stopwatch.StartNew();
            RpcMessageInfo message = Load(new FileDescriptorProto
            {
                Name = "enum.proto",
                MessageType = { root },
                EnumType = { type },
            }).GetMessage("Root");

            long allocated = AllocatedBy(() => DynamicMessage.Parse(message, [0x08, 0x01]));

            TimeSpan time = watch.Elapsed;
            Assert.InRange(allocated, 0, 200_000_000);
            Assert.Equal(count - 1, message.FindField("f0")!.DefaultValue);
            return time;
        });
    }

    [Fact]
    public static void Thousands_of_messages_and_enums_are_written_in_time()
    {
        TakesTimeInProportion(40_000, count =>
        {
            FileDescriptorProto file = new() { Name = "many.proto" };
            for (int i = 0; i < count; i++)
            {
                file.MessageType.Add(new DescriptorProto { Name = $"M{i}" });
                file.EnumType.Add(new EnumDescriptorProto
                {
                    Name = $"E{i}",
                    Value = { new EnumValueDescriptorProto { Name = $"V{i}" } },
                });
            }

            RpcSchema schema = Load(file);
            Stopwatch watch = Stopwatch.StartNew();

            string text = schema.ToProtoText("many.proto");

            TimeSpan time = watch.Elapsed;
            Assert.Contains($"message M{count - 1} ", text, StringComparison.Ordinal);
            Assert.Contains($"enum E{count - 1} ", text, StringComparison.Ordinal);
            return time;
        });
    }

    // On a machine of any speed. The best of five, for other tests run at the same time; the first that is
    // good enough will do.
    private static void TakesTimeInProportion(int count, Func<int, TimeSpan> timeOf)
    {
        timeOf(count / Shares);
        TimeSpan shares = TimeOfShares();
        TimeSpan whole = timeOf(count);
        for (int i = 1; i < 5 && whole > MostTimes * shares; i++)
        {
            shares = Min(shares, TimeOfShares());
            whole = Min(whole, timeOf(count));
        }

        Assert.InRange(whole, TimeSpan.Zero, MostTimes * shares);

        TimeSpan TimeOfShares() => TimeSpan.FromTicks(
            Enumerable.Range(0, Shares).Sum(_ => timeOf(count / Shares).Ticks));
    }

    private static TimeSpan Min(TimeSpan one, TimeSpan other) => one < other ? one : other;

    private static int NumberOf(int index) =>
        index + 1 < FirstReserved ? index + 1 : index + 1 + Reserved;

    private static FieldDescriptorProto Field(
        string name, int number, string? typeName = null, Label label = Label.Optional)
    {
        FieldDescriptorProto field = new()
        {
            Name = name,
            Number = number,
            Label = label,
            Type = typeName is null ? Type.Int32 : Type.Message,
        };
        if (typeName is not null)
        {
            field.TypeName = typeName;
        }

        return field;
    }

    private static long AllocatedBy(Action action)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        action();
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    private static RpcSchema Load(FileDescriptorProto file) => RpcSchema.FromDescriptorSet(
        new FileDescriptorSet { File = { file } }.ToByteArray());
}
