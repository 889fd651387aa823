using System.Diagnostics;
using System.Text;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

/// <summary>In the texts, <c>~</c> is before what protoc would report, and <c>«»</c> are around what
/// becomes blank.</summary>
public static class OptionEraserTests
{
    [Theory]
    [InlineData("import ~\"a.proto\";")]
    [InlineData("«~import \"a.proto\";» import \"b.proto\";")]
    [InlineData("«~import public 'a' \".proto\" ;»x")]
    [InlineData("«~import weak \"a\"\n/* b */ ;»\n// c")]
    [InlineData("«~import \"a\"; // why»\nmessage A {}")]
    [InlineData("message import { string ~import = 1; }")]
    public static void Imports_become_blank(string text) => Check(text);

    [Theory]
    [InlineData("«option ~(a) = 1;» x")]
    [InlineData("«option (a) = ~{ b: 1 };» x")]
    [InlineData("«option ~(a.b).c = 'x;y';» x")]
    [InlineData("«option ~(.a.b) = \"\\\"};\";» x")]
    [InlineData("«option ~(a) = { b { c: ';' } d: [1, 2]; };»x")]
    [InlineData("«option /* ; */ ~(a) // ;\n = 'b' 'c' ;»x")]
    [InlineData("«option ~(a) = 1;»\toption (b) = 2;")]
    [InlineData("message A { «option ~(a) = 1;» int32 b = 1; }")]
    [InlineData("rpc A(B) returns (C) { «option ~(a) = {};» }")]
    [InlineData("option deprecated = true; «option ~(a) = 1;»")]
    public static void Option_statements_become_blank(string text) => Check(text);

    [Theory]
    [InlineData("int32 a = 1 «[~(b) = 1]»;")]
    [InlineData("int32 a = 1 [«~(b) = 1,» deprecated = true];")]
    [InlineData("int32 a = 1 [deprecated = true«, ~(b) = 1»];")]
    [InlineData("int32 a = 1 [(x) = 1«, ~(b) = 1», (y) = 2];")]
    [InlineData("int32 a = 1 «[~(b) = 1, ~(c) = 2]»;")]
    [InlineData("int32 a = 1 [«~(b) = 1,» (x) = 2«, ~(c) = 2»];")]
    [InlineData("int32 a = 1 «[(b) = ~{ c: \"]\", d: [1] }]»;")]
    [InlineData("int32 a = 1 [\n  «~(b).c = '],',»\n  json_name = ']'\n];")]
    [InlineData("A = 0 «[~(b) = -1.5]»; B = 1 [(b) = 1];")]
    [InlineData("extensions 1 to max «[~(b) = 1]»;")]
    public static void Options_in_lists_become_blank(string text) => Check(text);

    [Theory]
    [InlineData("(a)", "«option (a) = 1;» «option (a).b = 2;» option (ab) = 3;")]
    [InlineData("(a)", "int32 x = 1 [«( a /* b */ ) = 1,» (b).(a) = 2];")]
    [InlineData("(b).(a)", "int32 x = 1 [(b) = 1«, (b).(a).c = 2»];")]
    [InlineData("features.(a)", "«option features.(a).b = 1;» option features.c = 2;")]
    public static void Options_of_a_name_become_blank(string name, string text) => Check(text, name);

    [Fact]
    public static void Columns_are_those_of_protoc()
    {
        // A byte order mark has three bytes, a tab ends at the next multiple of eight, and ü has two bytes.
        byte[] text = Encoding.UTF8.GetBytes("\uFEFF\toption\t(ü) = 'ü'; option (b) = 1;\r\n");
        ErasedParts parts = new();
        parts.Places.Add(new TextPlace(1, 17));
        parts.Places.Add(new TextPlace(1, 37));

        OptionEraser.Erase(text, parts);

        Assert.Equal(
            $"\uFEFF\t      \t{new string(' ', 28)}\r\n", Encoding.UTF8.GetString(text));
    }

    [Theory]
    [InlineData("message A { extend B { } }", true)]
    [InlineData("extend B { optional int32 c = 1; } message A { int32 extend = 1; }", false)]
    [InlineData("message A { option (b) = { extend: 1 }; }", false)]
    public static void Extensions_in_messages_are_seen(string text, bool expected) =>
        Assert.Equal(expected, OptionEraser.HasNestedExtensions(Encoding.UTF8.GetBytes(text)));

    [Theory]
    [InlineData("\"")]
    [InlineData("'\\")]
    [InlineData("/*")]
    [InlineData("//")]
    [InlineData("option")]
    [InlineData("option (a) =")]
    [InlineData("option (a) = {")]
    [InlineData("import")]
    [InlineData("[")]
    [InlineData("[,,")]
    [InlineData("[a=[{")]
    [InlineData("}}}]]]")]
    [InlineData("\0")]
    public static void Any_text_is_read_to_its_end(string text)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text);
        ErasedParts parts = new();
        parts.Names.Add("(a)");

        OptionEraser.Erase(bytes, parts);

        Assert.Equal(text.Length, bytes.Length);
    }

    [Theory]
    [InlineData("{")]
    [InlineData("[(a)={")]
    [InlineData("option (a)={")]
    [InlineData("(a).")]
    [InlineData("option (a) = 1;")]
    [InlineData("x[(a)=1,b=2];")]
    [InlineData("\"")]
    [InlineData("/")]
    [InlineData("/* ")]
    [InlineData("\0")]
    [InlineData("option (x).(x).(x).(x).(x).(x).(x).(x).(x).(x)=1;")]
    public static void A_huge_text_takes_time_in_proportion(string part)
    {
        const int Size = 10_000_000;
        byte[] text = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Repeat(part, Size / part.Length)));
        ErasedParts parts = new();
        parts.Names.Add("(a)");
        long before = GC.GetAllocatedBytesForCurrentThread();
        Stopwatch watch = Stopwatch.StartNew();

        OptionEraser.Erase(text, parts);

        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(20), $"{watch.Elapsed}");
        Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < 40L * Size);
    }

    private static void Check(string marked, string? name = null)
    {
        ErasedParts parts = new();
        if (name is not null)
        {
            parts.Names.Add(name);
        }

        StringBuilder text = new();
        StringBuilder expected = new();
        bool isErased = false;
        (int line, int column) = (1, 1);
        foreach (char c in marked)
        {
            switch (c)
            {
                case '~':
                    parts.Places.Add(new TextPlace(line, column));
                    continue;
                case '«' or '»':
                    isErased = c == '«';
                    continue;
            }

            text.Append(c);
            expected.Append(isErased && c != '\n' ? ' ' : c);
            (line, column) = c switch
            {
                '\n' => (line + 1, 1),
                '\t' => (line, column + 8 - ((column - 1) % 8)),
                _ => (line, column + 1),
            };
        }

        byte[] bytes = Encoding.UTF8.GetBytes(text.ToString());
        OptionEraser.Erase(bytes, parts);

        Assert.Equal(expected.ToString(), Encoding.UTF8.GetString(bytes));
    }
}
