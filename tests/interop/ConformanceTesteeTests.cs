using System.Buffers.Binary;
using ProtoRpc.Conformance;

namespace ProtoRpc.Interop;

/// <summary>The testee answers as a runner of conformance tests expects.</summary>
public static class ConformanceTesteeTests
{
    private const string Proto3 = "protobuf_test_messages.proto3.TestAllTypesProto3";
    private const string Proto2 = "protobuf_test_messages.proto2.TestAllTypesProto2";

    private static readonly RpcSchema Schema = RpcSchema.Load(TesteeFiles.Of([]));

    [Theory]
    [InlineData(
        Proto3, "jsonPayload", """{\"optionalInt32\":1}""", "PROTOBUF", """{"protobufPayload":"CAE="}""")]
    [InlineData(
        Proto3, "textPayload", "optional_int32: 1", "JSON", """{"jsonPayload":"{\"optionalInt32\":1}"}""")]
    [InlineData(
        Proto2, "protobufPayload", "CAE=", "TEXT_FORMAT", """{"textPayload":"optional_int32: 1\n"}""")]
    [InlineData(
        "no.Such", "jsonPayload", "{}", "JSON", """{"skipped":"The schema has no message 'no.Such'."}""")]
    public static void Converts_a_payload(
        string type, string field, string payload, string output, string expected)
    {
        string request =
            $$"""{"messageType":"{{type}}","{{field}}":"{{payload}}","requestedOutputFormat":"{{output}}"}""";

        Assert.Equal(expected, Assert.Single(Ask(request)));
    }

    [Theory]
    [InlineData("protobuf_test_messages.proto2.TestAllTypesProto2")]
    [InlineData("protobuf_test_messages.proto3.TestAllTypesProto3")]
    [InlineData("protobuf_test_messages.editions.TestAllTypesEdition2023")]
    [InlineData("protobuf_test_messages.editions.proto2.TestAllTypesProto2")]
    [InlineData("protobuf_test_messages.editions.proto3.TestAllTypesProto3")]
    public static void Knows_the_messages_of_current_runners(string type)
    {
        string request =
            $$"""{"messageType":"{{type}}","protobufPayload":"CAE=","requestedOutputFormat":"JSON"}""";

        Assert.Equal("""{"jsonPayload":"{\"optionalInt32\":1}"}""", Assert.Single(Ask(request)));
    }

    [Fact]
    public static void Leaves_out_the_items_of_a_message_set_in_no_format()
    {
        // message_set_correct (500) with the item 4135312, its type after its message.
        const string Item = "oh8LCxoCSGMQkLP8AQw=";
        string request =
            $$"""{"messageType":"{{Proto2}}","protobufPayload":"{{Item}}","requestedOutputFormat":"JSON"}""";

        Assert.Contains("MessageSetCorrectExtension2.message_set_extension]", Assert.Single(Ask(request)));
    }

    [Fact]
    public static void Ignores_its_own_path_before_the_files_that_are_given()
    {
        string own = typeof(Testee).Assembly.Location;
        string given = Path.Combine(Path.GetTempPath(), "given.proto");

        Assert.Equal(TesteeFiles.Of([]), TesteeFiles.Of([own]));
        Assert.Equal(
            TesteeFiles.Of([]), TesteeFiles.Of([Path.GetRelativePath(Environment.CurrentDirectory, own)]));
        Assert.Equal(TesteeFiles.Of([]), TesteeFiles.Of([Environment.ProcessPath!]));
        Assert.Equal([given], TesteeFiles.Of([given]));
        Assert.Equal([given], TesteeFiles.Of([own, given]));
        Assert.Equal([given, own], TesteeFiles.Of([given, own]));
        Assert.Equal(6, TesteeFiles.Of([]).Count);
    }

    [Theory]
    [InlineData("jsonPayload", "{")]
    [InlineData("jsonPayload", """{\"nope\":1}""")]
    [InlineData("textPayload", "optional_int32: x")]
    [InlineData("protobufPayload", "CA==")]
    public static void Tells_what_it_cannot_read(string field, string payload)
    {
        string request =
            $$"""{"messageType":"{{Proto3}}","{{field}}":"{{payload}}","requestedOutputFormat":"JSON"}""";

        Assert.StartsWith("""{"parseError":""", Assert.Single(Ask(request)));
    }

    [Fact]
    public static void Answers_until_the_input_ends()
    {
        string request =
            $$"""{"messageType":"{{Proto3}}","jsonPayload":"{}","requestedOutputFormat":"JSON"}""";

        Assert.Equal(3, Ask(request, request, request).Count);
    }

    private static List<string> Ask(params string[] requests)
    {
        RpcMessageInfo requestType = Schema.GetMessage("conformance.ConformanceRequest");
        using MemoryStream input = new();
        foreach (string json in requests)
        {
            WriteFrame(input, MessageFormats.Json.Read(requestType, json).ToByteArray());
        }
        input.Position = 0;
        using MemoryStream output = new();

        new Testee(Schema).Run(input, output);

        List<string> answers = [];
        RpcMessageInfo responseType = Schema.GetMessage("conformance.ConformanceResponse");
        for (ReadOnlyMemory<byte> rest = output.ToArray(); !rest.IsEmpty;)
        {
            int length = BinaryPrimitives.ReadInt32LittleEndian(rest.Span);
            ReadOnlyMemory<byte> answer = rest.Slice(sizeof(int), length);
            answers.Add(MessageFormats.Json.ToText(DynamicMessage.Parse(responseType, answer.Span)));
            rest = rest[(sizeof(int) + length)..];
        }
        return answers;
    }

    private static void WriteFrame(MemoryStream stream, byte[] message)
    {
        Span<byte> length = stackalloc byte[sizeof(int)];
        BinaryPrimitives.WriteInt32LittleEndian(length, message.Length);
        stream.Write(length);
        stream.Write(message);
    }
}
