using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Formats;

namespace ProtoRpc.Tests.Formats;

/// <summary>The messages of a text of JSON.</summary>
public static class JsonMessagesTests
{
    private static readonly RpcMessageInfo Type = TypeOf(SourceContext.Descriptor);

    [Theory]
    [InlineData("""{"fileName":"a"}""", "a")]
    [InlineData("""{"fileName":"a"}{"fileName":"b"} {"fileName":"c"}""", "a,b,c")]
    [InlineData("""  [ {"fileName":"a"}, {"fileName":"[,]"} ]  """, "a,[,]")]
    [InlineData("[]", "")]
    [InlineData("", "")]
    [InlineData(" \r\n\t", "")]
    public static void Reads_values_after_each_other_or_one_array(string json, string texts) => Assert.Equal(
        texts, string.Join(",", JsonMessages.Read(Type, json, isStream: true)
            .Select(message => message["file_name"])));

    [Theory]
    [InlineData("{\"fileName\":\"a\"}\n {\"txt\":1}", "line 2, column 3")]
    [InlineData("[{\"fileName\":\"a\"},\n\n  {\"fileName\":1}]", "line 3, column 15")]
    [InlineData("[\n{\"fileName\":\"a\"},]", "line 2, column")]
    [InlineData("[{\"fileName\":\"a\"}", "line 1, column")]
    [InlineData("[{\"fileName\":\"a\"}]]", "line 1, column 1")]
    [InlineData("{\"fileName\":\"a\",}", "line 1, column")]
    [InlineData("{/*c*/}", "line 1, column 2")]
    [InlineData("{\"FileName\":\"a\"}", "line 1, column 2")]
    [InlineData("nothing", "line 1, column")]
    public static void Errors_name_the_place_in_the_whole_text(string json, string place)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => JsonMessages.Read(Type, json, isStream: true));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains(place, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_array_is_one_message_where_no_stream_is_read()
    {
        RpcException error = Assert.Throws<RpcException>(
            () => JsonMessages.Read(Type, "[{}]", isStream: false));

        Assert.Contains("needs an object, not a list", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_array_is_one_message_of_a_type_that_is_a_list()
    {
        RpcMessageInfo list = TypeOf(ListValue.Descriptor);

        Assert.Single(JsonMessages.Read(list, "[1, 2]", isStream: true));
        Assert.Equal(2, JsonMessages.Read(list, "[1] [2]", isStream: true).Count);
    }

    [Fact]
    public static void Elements_may_be_scalars()
    {
        RpcMessageInfo name = TypeOf(StringValue.Descriptor);

        Assert.Equal(
            ["a", "b"],
            JsonMessages.Read(name, "[\"a\", \"b\"]", isStream: true).Select(one => one["value"]));
    }

    [Fact]
    public static void Many_messages_take_time_in_proportion()
    {
        string json = $"[{string.Join(",\n", Enumerable.Repeat("{\"fileName\":\"abc\"}", 200_000))}]";

        Assert.Equal(200_000, JsonMessages.Read(Type, json, isStream: true).Count);
    }

    [Fact]
    public static void Deep_nesting_is_an_error()
    {
        string json = string.Concat(Enumerable.Repeat("[", 100_000));

        Assert.Throws<RpcException>(() => JsonMessages.Read(Type, json, isStream: true));
    }

    private static RpcMessageInfo TypeOf(MessageDescriptor type) =>
        RpcSchema.FromDescriptors(type.File).GetMessage(type.FullName);
}
