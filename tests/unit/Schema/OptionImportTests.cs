using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Schema;

/// <summary>Files that are only imported for their options, which edition 2024 added.</summary>
public static class OptionImportTests
{
    [Fact]
    public static void They_are_no_roots_of_a_set()
    {
        byte[] set = RpcSchema.Load([TestProtos.PathOf("edition_2024.proto")]).ToDescriptorSet();

        Assert.Equal(["edition_2024.proto"], RpcSchema.FromDescriptorSet(set).RootFiles);
    }

    [Fact]
    public static void They_come_along_when_a_schema_is_completed_and_are_renamed_with_it()
    {
        using TempFolder folder = new();
        RpcSchema own = RpcSchema.Load(
            [folder.Write("own/note.proto", "syntax = \"proto3\"; message Own {}")]);
        RpcSchema other = RpcSchema.Load([WriteService(folder)]);

        RpcSchema both = own.CompleteWith(other, "server");

        Assert.Contains(both.Files, file => file.Name == "server/note.proto");
        string text = both.ToProtoText("svc.proto");
        Assert.Contains("import option \"server/note.proto\";", text, StringComparison.Ordinal);
        Assert.Contains("(note.note) = \"kept\"", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void Two_parts_keep_their_own()
    {
        using TempFolder folder = new();
        string service = WriteService(folder);
        byte[] set = RpcSchema.Load([service]).ToDescriptorSet();
        folder.Write("note.proto", "syntax = \"proto3\"; message Other {}");
        File.WriteAllBytes(Path.Combine(folder.Path, "svc.pb"), set);

        RpcSchema schema = RpcSchema.Load(
            [Path.Combine(folder.Path, "note.proto"), Path.Combine(folder.Path, "svc.pb")]);

        Assert.Contains(
            "import option \"svc/note.proto\";", schema.ToProtoText("svc.proto"), StringComparison.Ordinal);
    }

    [Fact]
    public static void A_missing_one_is_not_written_so_that_the_text_compiles()
    {
        using TempFolder folder = new();
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(
            RpcSchema.Load([WriteService(folder)]).ToDescriptorSet());
        FileDescriptorSet alone = new();
        alone.File.Add(set.File.Single(file => file.Name == "svc.proto"));

        RpcSchema schema = RpcSchema.FromDescriptorSet(alone.ToByteArray());
        string written = Path.Combine(folder.Path, "written");
        schema.WriteProtoFiles(written);

        Assert.DoesNotContain("import option", schema.ToProtoText("svc.proto"), StringComparison.Ordinal);
        Assert.NotNull(RpcSchema.Load([Path.Combine(written, "svc.proto")]).GetMethod("svc.S/Do"));
    }

    private static string WriteService(TempFolder folder)
    {
        folder.Write(
            "note.proto",
            """
            syntax = "proto2";
            package note;
            import "google/protobuf/descriptor.proto";
            extend google.protobuf.MethodOptions { optional string note = 50001; }
            """);
        return folder.Write(
            "svc.proto",
            """
            edition = "2024";
            package svc;
            import option "note.proto";
            message M { string a = 1; }
            service S { rpc Do(M) returns (M) { option (note.note) = "kept"; } }
            """);
    }
}
