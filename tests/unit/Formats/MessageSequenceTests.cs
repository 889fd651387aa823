using System.Text;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Formats;

namespace ProtoRpc.Tests.Formats;

public sealed class MessageSequenceTests
{
    private const string Field = "file_name";

    private static readonly RpcMessageInfo Type =
        RpcSchema.FromDescriptors(SourceContext.Descriptor.File).GetMessage("SourceContext");

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(7)]
    [InlineData(100_000)]
    public async Task Reads_JSON_values_one_after_the_other_however_they_arrive(int atOnce)
    {
        string text = $$"""
            {"{{Field}}":"a"}{"{{Field}}":"b{\"}[\\"}

              { "{{Field}}" : "ü" }
            """;

        Assert.Equal(["a", "b{\"}[\\", "ü"], await ReadAsync(text, MessageFormats.Json, atOnce));
    }

    [Fact]
    public async Task Gives_a_message_before_the_next_has_come()
    {
        using PausedStream input = new($$"""{"{{Field}}":"a"}""");
        MessageSequenceReader reader = new(input, MessageFormats.Json, Type, new FormatOptions(), true);

        DynamicMessage? first = await reader.ReadAsync(default).AsTask().WaitAsync(TimeSpan.FromSeconds(30));

        Assert.Equal("a", first![Field]);
    }

    [Theory]
    [InlineData("{\"x", "line 3, column ", "end of data")]
    [InlineData("{} \n }", "line 4, column 2", "not JSON")]
    [InlineData("null", "line 3, column 1", "an object")]
    [InlineData("{\"nope\":1}", "line 3, column", "no field 'nope'")]
    [InlineData("[{}]", "line 3, column 1", "a list")]
    [InlineData("{]", "line 3, column 2", "not JSON")]
    public async Task Broken_JSON_is_told_with_its_line_and_column_in_the_whole_input(
        string broken, string where, string what)
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => ReadAsync($"{{}}\n{{}}\n{broken}", MessageFormats.Json, 5));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains(where, error.Message, StringComparison.Ordinal);
        Assert.Contains(what, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Splits_text_at_the_record_separator()
    {
        Assert.Equal(
            ["a", "", "b"],
            await ReadAsync(
                $"{Field}: \"a\"\n\u001E\n\u001E{Field}: \"b\"\n\u001E \n", MessageFormats.Text, 3));
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => ReadAsync($"{Field}: \"a\"\n\u001E\n  ?", MessageFormats.Text, 3));
        Assert.Contains("line 3, column 3", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Splits_XML_at_the_record_separator_and_passes_over_a_byte_order_mark()
    {
        Assert.Equal(
            ["a", "b"],
            await ReadAsync(
                $"\uFEFF<r><{Field}>a</{Field}></r>\u001E<r><{Field}>b</{Field}></r>",
                MessageFormats.Xml, 1));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(1000)]
    public async Task Reads_binary_messages_with_their_lengths_before_them(int atOnce)
    {
        byte[] one = MessageFormats.Binary.ToArray(Message(new string('x', 200)));
        byte[] input = [(byte)(one.Length & 0x7F | 0x80), (byte)(one.Length >> 7), .. one, 0];

        Assert.Equal([new string('x', 200), ""], await ReadAsync(input, MessageFormats.Binary, atOnce));
        foreach (byte[] cut in new byte[][] { input[..^50], [0xFF], [0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0] })
        {
            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => ReadAsync(cut, MessageFormats.Binary, atOnce));
            Assert.Equal(RpcErrorIds.MalformedMessage, error.ErrorId);
        }
    }

    [Fact]
    public async Task Takes_all_binary_input_as_one_message_where_there_is_one()
    {
        byte[] one = MessageFormats.Binary.ToArray(Message("a"));

        Assert.Equal(["a"], await ReadAsync(one, MessageFormats.Binary, 1, isSequence: false));
        Assert.Equal([""], await ReadAsync([], MessageFormats.Binary, 1, isSequence: false));
    }

    [Fact]
    public async Task Takes_time_in_proportion_to_the_input()
    {
        string many = string.Concat(Enumerable.Repeat("{}", 200_000));
        string large = $$"""{"{{Field}}":"{{new string('x', 4 << 20)}}"}""";
        string deep = new('[', 1 << 20);

        Assert.Equal(200_000, (await ReadAsync(many, MessageFormats.Json, 100)).Count);
        Assert.Single(await ReadAsync(large, MessageFormats.Json, 100));
        await Assert.ThrowsAsync<RpcException>(() => ReadAsync(deep, MessageFormats.Json, 100));
    }

    private static DynamicMessage Message(string text)
    {
        DynamicMessage message = new(Type);
        message[Field] = text;
        return message;
    }

    private static Task<List<string>> ReadAsync(string text, MessageFormat format, int atOnce) =>
        ReadAsync(Encoding.UTF8.GetBytes(text), format, atOnce);

    private static async Task<List<string>> ReadAsync(
        byte[] bytes, MessageFormat format, int atOnce, bool isSequence = true)
    {
        using SlowStream input = new(bytes, atOnce);
        MessageSequenceReader reader = new(input, format, Type, new FormatOptions(), isSequence);
        List<string> texts = [];
        while (await reader.ReadAsync(default) is { } message)
        {
            texts.Add(message[Field] as string ?? "");
        }

        return texts;
    }

    /// <summary>Gives a few bytes at a time.</summary>
    private sealed class SlowStream(byte[] bytes, int atOnce) : MemoryStream(bytes)
    {
        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            base.ReadAsync(buffer[..Math.Min(atOnce, buffer.Length)], cancellationToken);
    }

    /// <summary>Gives a text, and then nothing for ever.</summary>
    private sealed class PausedStream(string text) : MemoryStream(Encoding.UTF8.GetBytes(text))
    {
        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (Position == Length)
            {
                await Task.Delay(Timeout.Infinite, cancellationToken);
            }

            return await base.ReadAsync(buffer, cancellationToken);
        }
    }
}
