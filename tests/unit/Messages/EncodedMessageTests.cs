using System.Globalization;
using System.Text.RegularExpressions;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Tests.Messages;

public static partial class EncodedMessageTests
{
    private static readonly RpcSchema Schema = ReplyMismatchTests.Load(
        "syntax = \"proto3\"; package m; message Many { repeated string texts = 1; bytes one = 2; }");

    private static readonly RpcMessageInfo Many = Schema.GetMessage("m.Many");

    [Fact]
    public static void A_message_as_large_as_the_limit_is_encoded_whole_and_one_byte_more_is_refused()
    {
        for (int size = 1; size < 40_000; size += 1 + (size / 50))
        {
            DynamicMessage message = Of(size, "é", "a");
            byte[] bytes = message.ToByteArray();

            using EncodedMessage encoded = EncodedMessage.From(message, bytes.Length, "request");
            RpcException error = Assert.Throws<RpcException>(
                () => EncodedMessage.From(message, bytes.Length - 1, "request"));

            Assert.Equal(bytes, encoded.ToArray());
            Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
            Assert.Contains(
                $"The request has {bytes.Length:N0} bytes; the limit is {bytes.Length - 1:N0}.",
                error.Message);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(5_000)]
    [InlineData(100_000)]
    public static void An_encode_stops_where_the_limit_is(int limit)
    {
        const int TextLength = 100;
        DynamicMessage message = Of(0, [.. Enumerable.Repeat(new string('x', TextLength), 100_000)]);

        // The second time the size is no surprise, and a buffer of that size would be at hand.
        for (int i = 0; i < 2; i++)
        {
            RpcException error =
                Assert.Throws<RpcException>(() => EncodedMessage.From(message, limit, "reply"));

            int reached = int.Parse(
                AtLeast().Match(error.Message).Groups[1].Value, NumberStyles.AllowThousands,
                CultureInfo.InvariantCulture);
            Assert.InRange(reached, limit + 1, limit + 4096 + TextLength);
            message.ToByteArray();
        }
    }

    [Fact]
    public static void The_bytes_are_the_same_whichever_way_they_are_taken()
    {
        DynamicMessage dynamic = Of(300, "a", "b");
        IMessage[] messages = [dynamic, new Google.Protobuf.WellKnownTypes.StringValue { Value = "abc" }];
        foreach (IMessage message in messages)
        {
            byte[] expected = MessageExtensions.ToByteArray(message);
            System.Buffers.ArrayBufferWriter<byte> output = new();

            using EncodedMessage encoded = EncodedMessage.From(message);
            encoded.WriteTo(output);
            using MemoryStream copy = new();
            encoded.OpenRead().CopyTo(copy);

            Assert.Equal(expected.Length, encoded.Length);
            Assert.Equal(expected, encoded.ToArray());
            Assert.Equal(expected, output.WrittenSpan.ToArray());
            Assert.Equal(expected, copy.ToArray());
        }
    }

    [Fact]
    public static void Each_of_many_required_scalars_is_missed()
    {
        const int Count = 130;
        string fields = string.Concat(Enumerable.Range(1, Count).Select(
            i => $"required {(i % 3 == 0 ? "string" : "int32")} f{i} = {i}; optional bool o{i} "
                + $"= {i + 1000};"));
        RpcMessageInfo type = ReplyMismatchTests.Load(
            $"syntax = \"proto2\"; package m; message Wide {{ {fields} }}").GetMessage("m.Wide");
        DynamicMessage message = new(type);
        for (int i = 1; i <= Count; i++)
        {
            message.Set(type.FindField($"f{i}")!, i % 3 == 0 ? "" : (object)0);
        }

        message.CheckRequired();
        for (int i = 1; i <= Count; i++)
        {
            RpcFieldInfo field = type.FindField($"f{i}")!;
            object value = message.Get(field)!;
            message.Clear(field);

            RpcException error = Assert.Throws<RpcException>(message.CheckRequired);

            Assert.Equal($"Wide.f{i}", error.FieldPath);
            message.Set(field, value);
        }
    }

    private static DynamicMessage Of(int size, params string[] texts)
    {
        DynamicMessage message = new(Many);
        message.Set(Many.FindField("texts")!, texts);
        message.Set(Many.FindField("one")!, new byte[size]);
        return message;
    }

    [GeneratedRegex("has at least ([0-9,]+) bytes")]
    private static partial Regex AtLeast();
}
