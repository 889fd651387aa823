using ProtoRpc.Rendering;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Rendering;

public static class ProtoViewTests
{
    private static readonly ViewStyle Style = new("", "", "<q>", "<k>", "<c>", "<r>");
    private static readonly RpcSchema Schema = RpcSchema.Load([TestProtos.PathOf("parcels.proto")]);

    [Fact]
    public static void A_message_reads_like_its_proto() => Assert.Equal(
        """
        // Where somebody lives.
        message Address {
          string street = 1; // With the number.
          string city = 2;
          Geo geo = 3;
        }

        """.ReplaceLineEndings("\n"),
        ProtoView.Format(Schema.GetMessage("parcels.Address"), 80, ViewStyle.Plain));

    [Fact]
    public static void A_method_reads_like_its_proto() => Assert.Equal(
        "<c>// Lists parcels,<r>\n<c>// newest first.<r>\n"
        + "<k>rpc<r> List (Ask) <k>returns<r> (<k>stream<r> Line);\n",
        ProtoView.Format(Schema.GetMethod("parcels.Post/List"), 80, Style));

    [Fact]
    public static void A_service_has_its_methods_and_the_id_of_its_interface()
    {
        RpcServiceInfo service = Schema.GetService("parcels.Post");

        string text = ProtoView.Format(service, 80, Style);

        Assert.StartsWith(
            "<c>// The post.<r>\n<k>service<r> Post {\n  <c>// Finds", text, StringComparison.Ordinal);
        Assert.EndsWith($"}}\n<c>// interface {service.InterfaceId}<r>\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void Names_that_are_words_of_the_language_have_no_colour()
    {
        RpcSchema schema = Compile("""
            syntax = "proto3";
            message message {
              string string = 1;
              map<string, message> map = 2 [json_name = "rpc service"];
              oneof oneof { bool optional = 3; }
            }
            enum enum { to = 0; }
            """);

        Assert.Equal(
            """
            <k>message<r> message {
              <k>string<r> string = 1;
              <k>map<r><<k>string<r>, .message> map = 2 [json_name = "rpc service"];
              <k>oneof<r> oneof {
                <k>bool<r> optional = 3;
              }
            }

            """.ReplaceLineEndings("\n"),
            ProtoView.Format(schema.GetMessage("message"), 80, Style));
    }

    [Fact]
    public static void What_declares_a_type_is_named()
    {
        RpcSchema schema = TestProtos.Everything;

        Assert.Equal("package parcels", ProtoView.ScopeOf("parcels.Address", Schema));
        Assert.Equal(
            "message everything.proto2.Singular",
            ProtoView.ScopeOf("everything.proto2.Singular.Inner", schema));
        Assert.Null(ProtoView.ScopeOf("Alone", schema));
    }

    [Fact]
    public static void Comments_control_no_terminal_and_are_bounded()
    {
        RpcSchema schema = Compile(
            $"syntax = \"proto3\";\n// a\u001b[31m\u202eb\u200b {new string('x', 100_000)}\nmessage M {{\n"
            + string.Concat(Enumerable.Range(1, 3000).Select(i => $"  int32 f{i} = {i};\n")) + "}\n");

        string text = ProtoView.Format(schema.GetMessage("M"), 80, ViewStyle.Plain);

        Assert.StartsWith("// a\\u001B[31m\\u202Eb\\u200B\n// xxx", text, StringComparison.Ordinal);
        Assert.InRange(text.Length, 10_000, 100_000);
        Assert.EndsWith("// …\n", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(80)]
    [InlineData(40)]
    [InlineData(1)]
    public static void Lines_that_are_longer_than_the_window_are_still_a_proto(int width)
    {
        RpcSchema schema = Compile("""
            syntax = "proto3";
            // Range gets the keys in the range from the key-value store, and so on, and so on, to the end.
            //   - https://example.org/a/very/long/address/without/any/space/that/is/longer/than/a/window
            service KV {
              // In the block.

              //
              rpc RangeOfManyKeys(RequestWithAVeryLongName) returns (stream RequestWithAVeryLongName);
            }
            message RequestWithAVeryLongName {
              string key = 1 [json_name = "a // b   c aaaaaaaaaaaaaaaaaaaaaaa"]; // With the number and so on.
            }
            """);

        RpcServiceInfo service = schema.GetService("KV");
        RpcMessageInfo message = schema.GetMessage("RequestWithAVeryLongName");
        string text = ProtoView.Format(service, width, ViewStyle.Plain)
            + ProtoView.Format(message, width, ViewStyle.Plain);

        RpcSchema again = Compile($"syntax = \"proto3\";\n{text}");
        Assert.Equal("/KV/RangeOfManyKeys", "/" + again.Services[0].Methods[0].FullName);
        Assert.Equal(message.Fields[0].JsonName, again.GetMessage(message.FullName).Fields[0].JsonName);
        Assert.Contains("// With the number", text, StringComparison.Ordinal);
        if (width == 80)
        {
            Assert.All(text.Split('\n'), line => Assert.True(line.Length <= width, line));
            Assert.Matches("so on,.*\n// .{0,20}end\\.\n", text);
            Assert.Matches("\n//   \\S+/window\n", text);
        }
    }

    private static RpcSchema Compile(string proto)
    {
        using TempFolder folder = new();
        return RpcSchema.Load([folder.Write("test.proto", proto)]);
    }
}
