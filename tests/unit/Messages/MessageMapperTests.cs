using System.Collections.Specialized;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.Tests.Messages;

public static class MessageMapperTests
{
    private static readonly RpcSchema Search =
        RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "search.proto")]);

    [Fact]
    public static void An_object_comes_back_from_bytes_as_it_went()
    {
        RpcMessageInfo type = Search.GetMessage("SearchResponse");
        MessageMapper mapper = new();

        DynamicMessage message = mapper.ToMessage(type, new Dictionary<string, object?>
        {
            ["result"] = new object[] { new { Url = "http://a", snippets = new[] { "x", "y" } }, new { url = "b" } },
        });
        DynamicMessage read = DynamicMessage.Parse(type, message.ToByteArray().AsSpan());
        OrderedDictionary shown = (OrderedDictionary)mapper.ToObject(read);

        Assert.Equal(message, read);
        OrderedDictionary first = (OrderedDictionary)((object[])shown["result"]!)[0];
        Assert.Equal("http://a", first["URL"]);
        Assert.Null(first["title"]);
        Assert.Equal(["x", "y"], (string[])first["snippets"]!);
    }
}
