using System.Buffers;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.LoadTesting;

public static class RandomMessagesTests
{
    public static TheoryData<string> Types => new(
        from file in TestProtos.Everything.Messages
        select file.FullName);

    [Theory]
    [MemberData(nameof(Types))]
    public static void Messages_of_every_type_are_valid_small_enough_and_the_same_for_a_seed(string name)
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage(name);
        RandomMessageSource first = new(seed: 7, maxBytes: 500);
        RandomMessageSource second = new(seed: 7, maxBytes: 500);
        for (int i = 0; i < 20; i++)
        {
            DynamicMessage message = first.Make(type);

            byte[] bytes = message.ToByteArray();
            Assert.InRange(bytes.Length, 0, 500);
            Assert.Equal(bytes, second.Make(type).ToByteArray());
            Assert.Equal(message, DynamicMessage.Parse(type, bytes));
            ArrayBufferWriter<byte> json = new();
            MessageFormats.Json.Write(message, json);
            Assert.Equal(message, MessageFormats.Json.Read(type, json.WrittenMemory));
        }
    }

    [Fact]
    public static void Other_seeds_make_other_messages_that_use_the_room()
    {
        RpcMessageInfo type = TestProtos.Everything.Messages
            .OrderByDescending(candidate => candidate.Fields.Count).First();

        int[] sizes =
        [
            .. Enumerable.Range(0, 50).Select(
                seed => new RandomMessageSource(seed, 2000).Make(type).CalculateSize()),
        ];

        Assert.True(sizes.Distinct().Count() > 20);
        Assert.InRange(sizes.Max(), 500, 2000);
    }

    [Fact]
    public static void Without_room_there_are_only_required_fields()
    {
        RpcMessageInfo type = Load("message M { required int32 a = 1; optional string b = 2; }", "M");

        Assert.InRange(new RandomMessageSource(1, 11).Make(type).CalculateSize(), 2, 11);
    }

    [Theory]
    [InlineData("message M { required string a = 1; }", "fit into 1 bytes")]
    [InlineData("message M { required M a = 1; required M b = 2; }", "no end")]
    public static void A_type_without_a_valid_message_of_that_size_is_an_error(string proto, string why)
    {
        RpcMessageInfo type = Load(proto, "M");

        RpcException error = Assert.Throws<RpcException>(() => new RandomMessageSource(1, 1).Make(type));

        Assert.Equal(RpcErrorIds.InvalidLoadTest, error.ErrorId);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Required_fields_that_double_with_each_level_end_with_an_error()
    {
        string levels = string.Join('\n', Enumerable.Range(0, 60).Select(i =>
            $"message L{i} {{ required L{i + 1} a = 1; required L{i + 1} b = 2; }}"));
        RpcMessageInfo type = Load($"{levels}\nmessage L60 {{}}", "L0");

        RpcException error = Assert.Throws<RpcException>(() => new RandomMessageSource(1, 1000).Make(type));

        Assert.Contains("too many messages", error.Message, StringComparison.Ordinal);
    }

    private static RpcMessageInfo Load(string proto, string name)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string path = Path.Combine(folder.FullName, "m.proto");
            File.WriteAllText(path, $"syntax = \"proto2\";\n{proto}");
            return RpcSchema.Load([path]).GetMessage(name);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
