using ProtoRpc.Messages;

namespace ProtoRpc.Tests.Messages;

public static class ReplyMismatchTests
{
    private const string Ours = """
        syntax = "proto3";
        package m;
        message Reply {
          string text = 1; Inner inner = 2; repeated Inner list = 3; map<string, Inner> by_name = 4;
        }
        message Inner { int32 n = 1; }
        """;

    [Theory]
    [InlineData("int32 text = 1;", "0801", "m.Reply.text")]
    [InlineData("inner with a text", "12030A0161", "m.Inner.n")]
    [InlineData("a list with a text", "1A0208011A030A0161", "m.Inner.n")]
    [InlineData("a map with a text", "22080A016112030A0162", "m.Inner.n")]
    [InlineData("what fits", "0A0161120208011A020802", null)]
    [InlineData("a newer field", "0A01612801", null)]
    [InlineData("newer fields alone", "28013001", null)]
    public static void A_field_that_came_as_another_type_is_found(string what, string bytes, string? field)
    {
        DynamicMessage reply =
            DynamicMessage.Parse(Load(Ours).GetMessage("m.Reply"), Convert.FromHexString(bytes));

        Assert.True(field == ReplyMismatch.Find(reply)?.FullName, what);
    }

    [Fact]
    public static void A_number_that_a_closed_enum_does_not_have_is_none()
    {
        RpcSchema schema =
            Load("syntax = \"proto2\"; package m; enum E { A = 1; } message Reply { optional E e = 1; }");

        Assert.Null(ReplyMismatch.Find(DynamicMessage.Parse(schema.GetMessage("m.Reply"), [8, 77])));
    }

    internal static RpcSchema Load(string text)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-test-");
        try
        {
            string file = Path.Combine(folder.FullName, "m.proto");
            File.WriteAllText(file, text);
            return RpcSchema.Load([file], [folder.FullName]);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
