using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Schema;

/// <summary>Numbers of fields and values that collide in the dictionaries of those who link a
/// schema.</summary>
public static class HostileNumbersTests
{
    // A number of buckets that .NET's dictionaries have for so many keys.
    private const int Buckets = 36_353;

    [Theory]
    [InlineData(14_000, 1, 0)]
    [InlineData(2_000, 26, 0)]
    [InlineData(0, 1, 14_000)]
    public static void Too_many_that_are_far_apart_are_refused(int values, int enums, int fields)
    {
        RpcException error = Assert.Throws<RpcException>(() => Load(values, enums, fields, Buckets));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains("too far apart", error.Message);
    }

    [Theory]
    [InlineData(20_000, 1, 0, 1)]
    [InlineData(20_000, 1, 0, 50)]
    [InlineData(9_000, 1, 0, Buckets)]
    [InlineData(900, 30, 0, Buckets)]
    [InlineData(0, 1, 12_000, 1)]
    public static void Others_are_linked(int values, int enums, int fields, int step)
    {
        Assert.NotNull(Load(values, enums, fields, step));
    }

    private static RpcSchema Load(int values, int enums, int fields, int step)
    {
        FileDescriptorProto file = new() { Name = "numbers.proto", Syntax = "proto2" };
        for (int e = 0; e < enums && values > 0; e++)
        {
            EnumDescriptorProto type = new() { Name = $"E{e}" };
            for (int i = 0; i < values; i++)
            {
                type.Value.Add(new EnumValueDescriptorProto { Name = $"V{e}_{i}", Number = i * step });
            }

            file.EnumType.Add(type);
        }

        DescriptorProto message = new() { Name = "M" };
        for (int i = 0; i < fields; i++)
        {
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = 20_000 + (i * step),
                Label = FieldDescriptorProto.Types.Label.Optional,
                Type = FieldDescriptorProto.Types.Type.Int32,
            });
        }

        file.MessageType.Add(message);
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray());
    }
}
