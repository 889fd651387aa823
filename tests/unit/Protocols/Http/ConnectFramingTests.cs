using System.Buffers;
using System.Text;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

public static class ConnectFramingTests
{
    [Theory]
    [InlineData("application/connect+proto", "Binary")]
    [InlineData("application/connect+json", "Json")]
    [InlineData("Application/Connect+JSON; charset=utf-8", "Json")]
    [InlineData("application/connect+xml", null)]
    [InlineData("application/connect+", null)]
    [InlineData("application/connect", null)]
    [InlineData("application/json", null)]
    [InlineData(null, null)]
    public static void A_media_type_names_the_format(string? type, string? format) =>
        Assert.Equal(format, ConnectFraming.FormatOf(type)?.Name);

    [Theory]
    [InlineData(0, true, true)]
    [InlineData(1, true, true)]
    [InlineData(2, false, true)]
    [InlineData(3, false, true)]
    [InlineData(4, false, false)]
    [InlineData(0x80, false, false)]
    [InlineData(0xff, false, false)]
    public static void Only_replies_have_an_end(byte flags, bool inRequests, bool inReplies)
    {
        foreach ((FrameRules rules, bool isAllowed) in new[]
        {
            (ConnectFraming.Requests, inRequests), (ConnectFraming.Replies, inReplies),
        })
        {
            ReadOnlySequence<byte> frame = new([flags, 0, 0, 0, 0]);
            if (isAllowed)
            {
                Assert.True(GrpcFraming.TryRead(ref frame, 10, out GrpcFrame read, rules));
                Assert.Equal(flags, read.Flags);
            }
            else
            {
                RpcException error = Assert.Throws<RpcException>(
                    () => GrpcFraming.TryRead(ref frame, 10, out _, rules));
                Assert.Contains($"0x{flags:x2}", error.Message, StringComparison.Ordinal);
            }
        }
    }

    [Fact]
    public static void An_end_is_read_as_it_was_written()
    {
        RpcMetadata trailers = new();
        trailers.Add("x-text", "one");
        trailers.Add("x-text", "two");
        trailers.Add("x-bytes-bin", [0, 1, 255]);
        ArrayBufferWriter<byte> output = new();

        ConnectEnd.Write(output, error: null, trailers);
        ConnectEnd end = ConnectEnd.Read(output.WrittenMemory);

        Assert.Equal(
            """{"metadata":{"x-text":["one","two"],"x-bytes-bin":["AAH/"]}}""",
            Encoding.UTF8.GetString(output.WrittenSpan));
        Assert.Null(end.Error);
        Assert.Equal(["one", "two"], end.Trailers.GetAll("x-text"));
        Assert.Equal([0, 1, 255], end.Trailers.GetBytes("x-bytes-bin"));
    }

    [Theory]
    [InlineData("{}", null, null)]
    [InlineData("""{"error":null,"metadata":null,"more":[1]}""", null, null)]
    [InlineData("""{"error":{"code":"not_found","message":"none"}}""", "not_found", "none")]
    [InlineData("""{"error":{"code":"not_found"}}""", "not_found", "The call failed with not_found.")]
    [InlineData("""{"error":{"code":"made_up","message":"x","details":"y"}}""", "made_up", "x")]
    [InlineData("""{"error":{"code":null,"message":"x"}}""", "", "x")]
    [InlineData("""{"error":{}}""", "", "The call failed.")]
    public static void An_end_says_how_the_call_ended(string json, string? code, string? text)
    {
        ConnectEnd end = ConnectEnd.Read(Encoding.UTF8.GetBytes(json));

        Assert.Equal(code, end.Error?.Code);
        Assert.Equal(text, end.Error?.ErrorText);
    }

    [Theory]
    [InlineData("")]
    [InlineData("{")]
    [InlineData("{}{}")]
    [InlineData("[]")]
    [InlineData("null")]
    [InlineData("\"error\"")]
    [InlineData("""{"error":5}""")]
    [InlineData("""{"error":[]}""")]
    [InlineData("""{"error":{"code":5}}""")]
    [InlineData("""{"error":{"code":"aborted","message":{}}}""")]
    [InlineData("""{"error":{"code":"aborted","details":[{"type":1,"value":2}]}}""")]
    [InlineData("""{"metadata":[]}""")]
    [InlineData("""{"metadata":{"a":"b"}}""")]
    [InlineData("""{"metadata":{"a":[null]}}""")]
    [InlineData("""{"metadata":{"a":[{}]}}""")]
    [InlineData("\ud800")]
    public static void What_is_no_end_is_an_error_of_the_reply(string json)
    {
        RpcException error = Assert.Throws<RpcException>(() => ConnectEnd.Read(Encoding.UTF8.GetBytes(json)));

        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Equal(RpcErrorIds.BadReply, error.ErrorId);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static void An_end_nested_too_deeply_is_refused() => Assert.Throws<RpcException>(
        () => ConnectEnd.Read(Encoding.UTF8.GetBytes(
            $"{{\"metadata\":{new string('[', 100_000)}{new string(']', 100_000)}}}")));

    [Fact]
    public static void Details_that_cannot_be_read_are_left_out()
    {
        const string Json = """
            {"error":{"code":"aborted","details":[
              {"type":"a.B","value":"AAE"}, {"type":"a.C","value":"AAE="}, {"type":"a.D","value":"!"},
              {"value":"AAE"}, {"type":"a.E"}, 7, null]}}
            """;

        ConnectEnd end = ConnectEnd.Read(Encoding.UTF8.GetBytes(Json));

        Assert.Equal(["a.B", "a.C"], end.Error!.Details.Select(detail => detail.Type));
        Assert.All(end.Error.Details, detail => Assert.Equal([0, 1], detail.Value.ToByteArray()));
    }

    [Fact]
    public static void Never_throws_anything_else_on_any_bytes()
    {
        byte[] whole = [..
            """{"error":{"code":"aborted","details":[{"type":"a"}]},"metadata":{"a-bin":["AA"]}}"""u8];
        Random random = new(7);
        for (int i = 0; i < 20_000; i++)
        {
            byte[] bytes = [.. whole];
            bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
            bytes[random.Next(bytes.Length)] = (byte)random.Next(128);
            try
            {
                ConnectEnd.Read(bytes.AsMemory(0, random.Next(bytes.Length + 1)));
            }
            catch (RpcException)
            {
                // The only exception that callers expect.
            }
        }
    }
}
