namespace ProtoRpc.Tests.Schema;

/// <summary>Files with errors in folders of schemas.</summary>
public static class BrokenFileTests
{
    private const string Good = "syntax = \"proto3\"; message A {} service S { rpc Do(A) returns (A); }";
    private const string Bad = "syntax = \"proto3\"; message {}";

    [Theory]
    [InlineData("*.proto")]
    [InlineData("**")]
    [InlineData("")]
    public static void One_is_a_warning_that_names_it(string pattern)
    {
        using TempFolder folder = new();
        folder.Write("good.proto", Good);
        string bad = folder.Write("bad.proto", Bad);

        RpcSchema schema = RpcSchemaLoader.Load(Path.Combine(folder.Path, pattern));

        Assert.NotNull(schema.GetMethod("S/Do"));
        Assert.Equal(["good.proto"], schema.RootFiles);
        string warning = Assert.Single(schema.Warnings);
        Assert.StartsWith($"'{bad}' is left out", warning, StringComparison.Ordinal);
        Assert.Contains("Expected message name", warning, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("service", "ServiceNotFound")]
    [InlineData("message", "MessageNotFound")]
    [InlineData("enum", "EnumNotFound")]
    [InlineData("method", "MethodNotFound")]
    public static void A_name_that_is_not_there_may_be_in_it(string kind, string id)
    {
        using TempFolder folder = new();
        folder.Write("good.proto", Good);
        string bad = folder.Write("bad.proto", Bad);
        RpcSchema schema = RpcSchemaLoader.Load(folder.Path);

        RpcException e = Assert.Throws<RpcException>(() => kind switch
        {
            "service" => schema.GetService("Zzz"),
            "message" => schema.GetMessage("Zzz"),
            "enum" => (object)schema.GetEnum("Zzz"),
            _ => schema.GetMethod("Zzz/Yyy"),
        });

        Assert.Equal(id, e.ErrorId);
        Assert.Contains($"'{bad}' is left out", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Files_that_import_it_are_left_out_too()
    {
        using TempFolder folder = new();
        folder.Write("bad.proto", Bad);
        folder.Write("importer.proto", "syntax = \"proto3\"; import \"bad.proto\"; message I {}");
        folder.Write("second.proto", "syntax = \"proto3\"; message J { Nope nope = 1; }");
        folder.Write("good.proto", Good);

        RpcSchema schema = RpcSchemaLoader.Load(folder.Path);

        Assert.Equal(["good.proto"], schema.RootFiles);
        Assert.Equal(3, schema.Warnings.Count);
        Assert.Contains(
            schema.Warnings,
            warning => warning.Contains("\"Nope\" is not defined", StringComparison.Ordinal));
    }

    [Fact]
    public static void A_file_that_is_named_must_be_right()
    {
        using TempFolder folder = new();
        folder.Write("good.proto", Good);
        string bad = folder.Write("bad.proto", Bad);

        Assert.Throws<RpcException>(() => RpcSchema.Load([bad, Path.Combine(folder.Path, "*.proto")]));
        Assert.Throws<RpcException>(() => RpcSchema.Load([Path.Combine(folder.Path, "*.proto"), bad]));
    }

    [Fact]
    public static void If_all_are_broken_all_errors_are_told()
    {
        using TempFolder folder = new();
        folder.Write("bad.proto", Bad);
        folder.Write("worse.proto", "syntax = \"proto3\"; enum {}");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchemaLoader.Load(folder.Path));

        Assert.Contains("bad.proto:1:28", e.Message, StringComparison.Ordinal);
        Assert.Contains("worse.proto:1:25", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_broken_descriptor_set_is_left_out_as_well()
    {
        using TempFolder folder = new();
        folder.Write("good.proto", Good);
        string bad = folder.Write("bad.pb", "no set");

        RpcSchema schema = RpcSchema.Load([Path.Combine(folder.Path, "*")]);

        Assert.Equal(["good.proto"], schema.RootFiles);
        Assert.Contains($"'{bad}' is left out", Assert.Single(schema.Warnings), StringComparison.Ordinal);
        Assert.Throws<RpcException>(() => RpcSchema.Load([bad]));
        Assert.Throws<RpcException>(() => RpcSchema.Load([Path.Combine(folder.Path, "*.pb")]));
    }

    [Fact]
    public static void It_is_read_when_it_is_mended()
    {
        using TempFolder folder = new();
        folder.Write("good.proto", Good);
        string bad = folder.Write("bad.proto", Bad);
        RpcSchema schema = RpcSchemaLoader.Load(folder.Path);

        // What is kept of a schema is read again if one of these files changes.
        Assert.Contains(bad, schema.SourcePaths);
    }
}
