using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Schema;

public static class RpcMessageFilesTests
{
    private const string Own = "rpc_messages.proto";
    private const string Original = "csharp_rpc_messages.proto";
    private const string OriginalPath = "google/protobuf/csharp_rpc_messages.proto";

    // Another copy than ours: with a message of its own.
    private const string Copy = """
        // A copy.
        syntax = "proto2";
        package google.protobuf.rpc_messages;
        message RpcRequestHeader { optional RpcCallContext call_context = 5; }
        message RpcCallContext { optional bytes session_id = 1; extensions 100 to max; }
        message RpcVoid {}
        message RpcOfTheCopy { optional RpcVoid nothing = 1; }
        """;

    public static TheoryData<string[]> Names { get; } = new(
        [Own], [Original], [OriginalPath], [Own, Original], [Original, OriginalPath], [OriginalPath, Own],
        [Own, Original, OriginalPath], [OriginalPath, Original, Own]);

    public static TheoryData<string> EachName { get; } = [Own, Original, OriginalPath];

    [Theory]
    [MemberData(nameof(Names))]
    public static void Each_name_is_imported_alone_and_with_the_others(string[] names)
    {
        using TempFolder folder = new();

        RpcSchema schema = RpcSchema.Load([folder.Write("a.proto", Importing("A", names))]);

        AssertUsable(schema, "A");
        AssertUsable(RpcSchema.FromDescriptorSet(schema.ToDescriptorSet()), "A");
    }

    [Fact]
    public static void Files_of_one_schema_import_different_names()
    {
        using TempFolder folder = new();
        string[] paths =
        [
            folder.Write("a.proto", Importing("A", Own)), folder.Write("b.proto", Importing("B", Original)),
            folder.Write("c.proto", Importing("C", OriginalPath)),
            folder.Write("d.proto", "syntax = \"proto2\"; import \"http_error.proto\";"),
        ];

        RpcSchema schema = RpcSchema.Load(paths);

        Assert.All(["A", "B", "C"], name => AssertUsable(schema, name));
        Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcExceptionInfo"));
    }

    [Theory]
    [MemberData(nameof(EachName))]
    public static void A_copy_in_an_import_path_wins_for_all_names(string name)
    {
        using TempFolder folder = new();
        folder.Write($"imports/{name}", Copy);
        string path = folder.Write("a.proto", Importing("A", Own, Original, OriginalPath));

        RpcSchema schema = RpcSchema.Load([path], ["imports"], folder.Path);

        AssertUsable(schema, "A");
        Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcOfTheCopy"));
        Assert.Null(schema.FindMessage("google.protobuf.rpc_messages.RpcPingRequest"));
    }

    [Fact]
    public static void A_copy_beside_the_files_is_found_from_below_it()
    {
        using TempFolder folder = new();
        folder.Write($"tree/{OriginalPath}", Copy);
        string path = folder.Write("tree/services/a.proto", Importing("A", OriginalPath));

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcOfTheCopy"));
    }

    [Theory]
    [InlineData("syntax = \"proto2\"; package mine; message Other {}")]
    [InlineData("syntax = \"proto2\"; import public \"csharp_rpc_messages.proto\";")]
    public static void Another_file_of_our_name_hides_only_our_name(string text)
    {
        using TempFolder folder = new();
        folder.Write($"imports/{Own}", text);
        string path = folder.Write("a.proto", Importing("A", Own, Original, OriginalPath));

        RpcSchema schema = RpcSchema.Load([path], ["imports"], folder.Path);

        AssertUsable(schema, "A");
    }

    [Fact]
    public static void Copies_of_several_sets_and_files_are_one()
    {
        using TempFolder folder = new();
        folder.Write($"imports/{OriginalPath}", Copy);
        string set = Path.Combine(folder.Path, "copy.pb");
        File.WriteAllBytes(set, RpcSchema.Load(
            [folder.Write("b.proto", Importing("B", OriginalPath))], ["imports"], folder.Path)
                .ToDescriptorSet());
        string ours = Path.Combine(folder.Path, "ours.pb");
        File.WriteAllBytes(
            ours, RpcSchema.Load([folder.Write("c.proto", Importing("C", Own))]).ToDescriptorSet());
        string path = folder.Write("a.proto", Importing("A", Own, Original));

        foreach (string[] order in (string[][])[[path, set, ours], [ours, set], [set, ours]])
        {
            RpcSchema schema = RpcSchema.Load(order);

            AssertUsable(schema, "B");
            AssertUsable(schema, "C");
            Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcOfTheCopy"));
            Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcPingRequest"));
            AssertUsable(RpcSchema.FromDescriptorSet(schema.ToDescriptorSet()), "B");
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public static void A_set_without_its_imports_finds_each_name(string[] names)
    {
        using TempFolder folder = new();
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(
            RpcSchema.Load([folder.Write("a.proto", Importing("A", names))]).ToDescriptorSet());
        FileDescriptorSet alone = new() { File = { set.File.Single(file => file.Name == "a.proto") } };

        AssertUsable(RpcSchema.FromDescriptorSet(alone.ToByteArray()), "A");
    }

    [Fact]
    public static void A_schema_is_completed_by_one_with_another_name()
    {
        using TempFolder folder = new();
        folder.Write($"imports/{Original}", Copy);
        RpcSchema first = RpcSchema.Load([folder.Write("a.proto", Importing("A", Own))]);
        RpcSchema other = RpcSchema.Load(
            [folder.Write("b.proto", Importing("B", Original))], ["imports"], folder.Path);

        RpcSchema both = first.CompleteWith(other, "server");

        AssertUsable(both, "A");
        AssertUsable(both, "B");
    }

    [Fact]
    public static void Only_copies_of_that_file_may_declare_its_types_again()
    {
        using TempFolder folder = new();
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(
            RpcSchema.Load([folder.Write("a.proto", Importing("A", Own))]).ToDescriptorSet());
        FileDescriptorProto twice = set.File.Single(file => file.Name == Own).Clone();
        twice.Name = "other.proto";
        set.File.Add(twice);

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set.ToByteArray()));

        Assert.Equal("SchemaError", e.ErrorId);
    }

    private static string Importing(string name, params string[] files) =>
        $$"""
        syntax = "proto2";
        {{string.Join('\n', files.Select(file => $"import \"{file}\";"))}}
        message {{name}} {
          optional google.protobuf.rpc_messages.RpcVoid nothing = 1;
          extend google.protobuf.rpc_messages.RpcCallContext { optional string tenant = {{100 + name[0]}}; }
        }
        service {{name}}Service { rpc Do ({{name}}) returns (google.protobuf.rpc_messages.RpcVoid); }
        """;

    private static void AssertUsable(RpcSchema schema, string name)
    {
        Assert.Equal(
            "google.protobuf.rpc_messages.RpcVoid",
            schema.GetService(name + "Service").Methods[0].ReplyType.FullName);
        Assert.Equal(
            "google.protobuf.rpc_messages.RpcVoid", schema.GetMessage(name).Fields[0].MessageType!.FullName);
        Assert.Contains(
            schema.ExtensionsOf("google.protobuf.rpc_messages.RpcCallContext"),
            field => field.FullName == name + ".tenant");
        Assert.Single(schema.Messages, m => m.FullName == "google.protobuf.rpc_messages.RpcVoid");
    }
}
