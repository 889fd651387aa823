namespace ProtoRpc.Tests.Schema;

public sealed class SchemaCompletionTests : IDisposable
{
    private const string Shared = """
        syntax = "proto2"; package shop;
        message Item { optional string name = 1; extensions 100 to 199; }
        """;

    private readonly TempFolder _ours = new();
    private readonly TempFolder _theirs = new();

    public void Dispose()
    {
        _ours.Dispose();
        _theirs.Dispose();
    }

    [Fact]
    public void Services_that_only_the_other_has_come_with_what_they_need()
    {
        RpcSchema ours = Load(_ours, ("shared.proto", Shared), ("sell.proto", Service("Sell", "Of ours.")));
        RpcSchema theirs =
            Load(_theirs, ("shared.proto", Shared), ("buy.proto", Service("Buy", "Of theirs.")));

        RpcSchema both = ours.CompleteWith(theirs, "server");

        Assert.Equal(["shop.Sell", "shop.Buy"], both.Services.Select(service => service.FullName));
        Assert.Equal(["shared.proto", "sell.proto", "buy.proto"], both.Files.Select(file => file.Name));
        Assert.Equal(["sell.proto", "buy.proto"], both.RootFiles.Where(name => name != "shared.proto"));
        Assert.Equal("shop.Item", both.GetMethod("shop.Buy/Do").RequestType.FullName);
        Assert.Single(both.Messages, message => message.FullName == "shop.Item");
    }

    [Fact]
    public void What_both_declare_is_taken_from_the_first()
    {
        RpcSchema ours = Load(_ours, ("shared.proto", Shared), ("sell.proto", Service("Sell", "Of ours.")));
        RpcSchema theirs =
            Load(_theirs, ("shared.proto", Shared), ("other.proto", Service("Sell", "Of theirs.")));

        RpcSchema both = ours.CompleteWith(theirs, "server");

        Assert.Equal("Of ours.", both.GetService("shop.Sell").Comment.Trim());
        Assert.DoesNotContain(both.Files, file => file.Name == "other.proto");
    }

    [Fact]
    public void What_does_not_fit_is_told_with_what_to_do()
    {
        RpcSchema ours = Load(
            _ours, ("shop.proto", """syntax = "proto3"; package shop; message Item { }"""));
        RpcSchema theirs = Load(_theirs, ("shop.proto", """
            syntax = "proto3"; package shop;
            message Item { message Size { } }
            message Box { Item.Size size = 1; }
            service Pack { rpc Do (Box) returns (Box); }
            """));

        RpcException error = Assert.Throws<RpcException>(() => ours.CompleteWith(theirs, "server"));

        Assert.Equal("SchemaError", error.ErrorId);
        Assert.Contains("shop.Item.Size", error.Message, StringComparison.Ordinal);
        Assert.Contains("Update the schema", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_another_version_of_a_file_only_its_further_services_are_taken()
    {
        const string Newer = """
            syntax = "proto2"; package shop;
            message Item { optional string name = 1; optional int32 count = 2; extensions 100 to 199; }
            extend Item { optional int32 weight = 100; }
            service Sell { rpc Do (Item) returns (Item); }
            message Reason { optional Item item = 1; }
            service Refund { rpc Do (Reason) returns (Item); }
            """;
        const string Older = """
            syntax = "proto2"; package shop;
            message Item { optional string name = 1; extensions 100 to 199; }
            extend Item { optional int32 weight = 100; }
            service Sell { rpc Do (Item) returns (Item); }
            """;
        RpcSchema ours = Load(_ours, ("shop.proto", Older));
        RpcSchema theirs = Load(_theirs, ("shop.proto", Newer));

        RpcSchema both = ours.CompleteWith(theirs, "server");

        Assert.Equal(["shop.Sell", "shop.Refund"], both.Services.Select(service => service.FullName));
        Assert.Equal(["shop.proto", "server/shop.proto"], both.Files.Select(file => file.Name));
        RpcMessageInfo item = both.GetMethod("shop.Refund/Do").ReplyType;
        Assert.Same(item, both.GetMessage("shop.Reason").FindField("item")!.MessageType);
        Assert.Null(item.FindField("count"));
        DynamicMessage read = DynamicMessage.Parse(item, [0x0A, 1, 0x41, 0xA0, 6, 5]);
        Assert.Equal(5, read.Get(item.FindField("[shop.weight]")!));
    }

    [Fact]
    public void Nothing_is_added_where_nothing_is_missing()
    {
        RpcSchema ours = Load(_ours, ("shared.proto", Shared), ("sell.proto", Service("Sell", "")));

        RpcSchema both = ours.CompleteWith(ours, "server");

        Assert.Equal(ours.ToDescriptorSet(), both.ToDescriptorSet());
    }

    private static string Service(string name, string comment) => $$"""
        syntax = "proto2"; package shop;
        import "shared.proto";
        // {{comment}}
        service {{name}} { rpc Do (Item) returns (Item); }
        """;

    private static RpcSchema Load(TempFolder folder, params (string Name, string Text)[] files) =>
        RpcSchema.Load([.. files.Select(file => folder.Write(file.Name, file.Text))]);
}
