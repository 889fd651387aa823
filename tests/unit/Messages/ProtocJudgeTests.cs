using System.Text;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Messages;

/// <summary>protoc decides whether our bytes mean what they should: one run for many messages of many
/// types.</summary>
public sealed class ProtocJudgeTests : IDisposable
{
    private const int MessagesPerType = 25;

    private static readonly string[] Types =
    [
        "proto2.Singular", "proto2.Defaults", "proto2.Repeated", "proto2.Packed", "proto2.Maps",
        "proto2.Choice", "proto2.Required", "proto2.Extendable", "proto2.Leaf",
        "proto3.Singular", "proto3.Optional", "proto3.Repeated", "proto3.Unpacked", "proto3.Maps",
        "proto3.Choice", "proto3.WellKnown", "proto3.Names",
        "editions.Explicit", "editions.Implicit", "editions.Required", "editions.Repeated",
        "editions.Expanded", "editions.Strings", "editions.Maps", "editions.Choice", "editions.Extendable",
    ];

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("judge");
    private readonly RpcMessageInfo _batch;
    private readonly ProtocCodec _protoc;

    public ProtocJudgeTests()
    {
        string file = Path.Combine(_folder.FullName, "batch.proto");
        File.WriteAllText(file, $$"""
            syntax = "proto2";
            package judge;
            import "everything_proto2.proto";
            import "everything_proto3.proto";
            import "everything_editions.proto";
            message Batch {
            {{string.Concat(Types.Select((type, i) => $"  repeated everything.{type} f{i} = {i + 1};\n"))}}
            }
            """);
        _batch = RpcSchema.Load([file], [TestProtos.Folder]).GetMessage("judge.Batch");
        _protoc = new(file, "judge.Batch");
    }

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData(1)]
    [InlineData(20251121)]
    public void Protoc_encodes_the_same_values_to_the_same_bytes(int seed)
    {
        DynamicMessage batch = MakeBatch(seed);

        byte[] theirs = _protoc.Encode(Encoding.UTF8.GetBytes(TextFormat.Of(batch)));
        byte[] ours = batch.ToByteArray();
        DynamicMessage read = DynamicMessage.Parse(_batch, theirs.AsSpan());

        AssertSame(batch, read);
        Assert.Equal(Convert.ToHexString(theirs), Convert.ToHexString(ours));
    }

    [Theory]
    [InlineData(2)]
    [InlineData(77)]
    public void Protoc_decodes_our_bytes_and_writes_them_again_as_they_were(int seed)
    {
        DynamicMessage batch = MakeBatch(seed);
        byte[] ours = batch.ToByteArray();

        byte[] again = _protoc.Encode(_protoc.Decode(ours));

        AssertSame(batch, DynamicMessage.Parse(_batch, again.AsSpan()));
        Assert.Equal(Convert.ToHexString(ours), Convert.ToHexString(again));
    }

    [Theory]
    [InlineData(3)]
    [InlineData(4711)]
    public void Our_text_is_what_protoc_prints(int seed)
    {
        DynamicMessage batch = MakeBatch(seed);

        // protoc ends lines as the system does.
        string theirs = Encoding.UTF8.GetString(_protoc.Decode(batch.ToByteArray())).Replace("\r\n", "\n");
        string ours = MessageFormats.Text.ToText(batch);

        string[] expected = theirs.Split('\n');
        string[] actual = ours.Split('\n');
        for (int i = 0; i < Math.Min(expected.Length, actual.Length); i++)
        {
            Assert.True(
                expected[i] == actual[i], $"line {i + 1}: protoc has\n{expected[i]}\nand we\n{actual[i]}");
        }
        Assert.Equal(expected.Length, actual.Length);
    }

    [Theory]
    [InlineData(5)]
    public void Each_reads_the_text_of_the_other(int seed)
    {
        DynamicMessage batch = MakeBatch(seed);
        byte[] bytes = batch.ToByteArray();

        byte[] read = _protoc.Encode(MessageFormats.Text.ToArray(batch));
        DynamicMessage back = MessageFormats.Text.Read(_batch, _protoc.Decode(bytes));

        Assert.Equal(Convert.ToHexString(bytes), Convert.ToHexString(read));
        AssertSame(batch, back);
    }

    private DynamicMessage MakeBatch(int seed)
    {
        RandomMessages random = new(seed);
        DynamicMessage batch = new(_batch);
        foreach (RpcFieldInfo field in _batch.Fields)
        {
            DynamicMessage[] items = Enumerable.Range(0, MessagesPerType)
                .Select(_ => random.Make(field.MessageType!))
                .ToArray();
            batch.Set(field, items);
        }
        return batch;
    }

    private static void AssertSame(DynamicMessage expected, DynamicMessage actual)
    {
        foreach (RpcFieldInfo field in expected.Type.Fields)
        {
            IReadOnlyList<DynamicMessage> left = (IReadOnlyList<DynamicMessage>)expected.Get(field)!;
            IReadOnlyList<DynamicMessage> right = (IReadOnlyList<DynamicMessage>)actual.Get(field)!;
            Assert.Equal(left.Count, right.Count);
            for (int i = 0; i < left.Count; i++)
            {
                Assert.True(left[i].Equals(right[i]), $"{field.TypeName}: {left[i]}\nread as\n{right[i]}");
            }
        }
    }
}
