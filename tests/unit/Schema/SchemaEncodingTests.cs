using System.Text;

namespace ProtoRpc.Tests.Schema;

/// <summary>.proto files that are not UTF-8. Windows PowerShell writes UTF-16 by default.</summary>
public static class SchemaEncodingTests
{
    private const string Proto = "syntax = \"proto3\";\nmessage A { int32 a = 1; }\n";

    public static TheoryData<string, string> Encodings() => new()
    {
        { "utf-16", "UTF-16" },
        { "utf-16BE", "UTF-16" },
        { "utf-32", "UTF-32" },
    };

    [Theory]
    [MemberData(nameof(Encodings))]
    public static void A_file_in_another_encoding_is_one_error_that_says_so(string name, string shown)
    {
        using TempFolder folder = new();
        string path = Write(folder, "a.proto", Encoding.GetEncoding(name));

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.StartsWith($"'{path}' is in the encoding {shown}, ", e.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', e.Message);
    }

    [Fact]
    public static void So_is_a_file_without_a_mark_and_one_that_is_imported()
    {
        using TempFolder folder = new();
        Write(folder, "a.proto", new UnicodeEncoding(bigEndian: false, byteOrderMark: false));
        string b = folder.Write(
            "b.proto", "syntax = \"proto3\";\nimport \"a.proto\";\nmessage B { A a = 1; }\n");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([b]));

        Assert.Contains("a.proto' is in the encoding UTF-16, ", e.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', e.Message);
    }

    private static string Write(TempFolder folder, string name, Encoding encoding)
    {
        string path = folder.Write(name, "");
        File.WriteAllText(path, Proto, encoding);
        return path;
    }
}
