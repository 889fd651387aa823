using System.Collections;
using System.Collections.Specialized;
using ProtoRpc.Formats.Json;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.Tests.Rendering;

namespace ProtoRpc.Tests.Messages;

public static class BlankMessageTests
{
    [Fact]
    public static void Is_an_empty_message_until_something_is_set()
    {
        BlankMessage parcel = Blank("Parcel");
        Assert.Equal("{}", Sent("Parcel", parcel));

        OrderedDictionary to = (OrderedDictionary)parcel["to"]!;
        ((OrderedDictionary)to["geo"]!)["lat"] = 1.5;

        Assert.Equal("""{"to":{"geo":{"lat":1.5}}}""", Sent("Parcel", parcel));
    }

    [Fact]
    public static void Sends_the_elements_in_which_something_was_set()
    {
        BlankMessage parcel = Blank("Parcel");
        object[] via = (object[])parcel["via"]!;
        parcel["via"] = new[] { via[0], new Hashtable { ["city"] = "Rom" }, new Hashtable() };

        Assert.Equal("""{"via":[{"city":"Rom"},{}]}""", Sent("Parcel", parcel));
    }

    [Fact]
    public static void Has_no_value_where_a_default_would_be_sent()
    {
        BlankMessage parcel = Blank("Parcel");

        object?[] expected = ["", 0d, "UNKNOWN"];
        Assert.Equal(expected, new[] { parcel["id"], parcel["weight"], parcel["state"] });
        Assert.All(
            new[] { "sent", "took", "note", "plane", "ship", "inside" }, name => Assert.Null(parcel[name]));
        Assert.Empty((object[])parcel["tags"]!);
    }

    [Fact]
    public static void Is_blank_or_not_after_it_crossed_a_process()
    {
        Hashtable values = new() { ["id"] = "", ["weight"] = 0d, ["ok"] = false, ["tags"] = new ArrayList() };
        Assert.True(new BlankMessage(values).IsBlank(PlainObjectModel.Instance));

        values["id"] = "x";
        Assert.False(new BlankMessage(values).IsBlank(PlainObjectModel.Instance));
    }

    [Fact]
    public static void Is_written_as_json_with_every_field() => Assert.Equal(
        """
        {
          "id": "",
          "number": 0,
          "to": {
            "street": "",
            "city": "",
            "geo": {
              "lat": 0,
              "lon": 0
            }
          },
          "ok": false,
          "state": "UNKNOWN",
          "at": null,
          "sizes": []
        }
        """.ReplaceLineEndings("\n"),
        BlankJson.Write(Blank("Line")));

    private static BlankMessage Blank(string type) => (BlankMessage)MessageMapper.Blank(Parcels.Type(type));

    private static string Sent(string type, BlankMessage message) =>
        MessageFormats.Json.ToText(new MessageMapper().ToMessage(Parcels.Type(type), message));
}
