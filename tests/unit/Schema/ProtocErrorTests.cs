using System.Text;
using ProtoRpc.Schema.Sources;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

public static class ProtocErrorTests
{
    [Fact]
    public static void Every_syntax_error_has_the_users_path_with_line_and_column()
    {
        using TempFolder folder = new();
        folder.Write("sub/bad.proto", "syntax = \"proto3\";\nmessage A {\n  int32 a = 1\n  Foo b = ;\n}\n");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load([Path.Combine("sub", "bad.proto")], baseFolder: folder.Path));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal("SchemaError", e.ErrorId);
        string path = Path.Combine("sub", "bad.proto");
        Assert.Equal($"{path}:4:3: Expected \";\".", e.Message.Split('\n')[0]);
    }

    [Fact]
    public static void The_users_path_is_told_also_where_protoc_needs_another()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        folder.Write("with:colon/bad.proto", "syntax = \"proto3\";\nmessage {}\n");
        folder.Write("with:colon/worse.proto", "syntax = \"proto3\";\nenum {}\n");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["with:colon/*.proto"], baseFolder: folder.Path));

        Assert.Equal(
            ["with:colon/bad.proto:2:9: Expected message name.",
                "with:colon/worse.proto:2:6: Expected enum name."],
            e.Message.Split('\n'));
    }

    [Fact]
    public static void Errors_of_several_files_come_together()
    {
        using TempFolder folder = new();
        string one = folder.Write("one.proto", "syntax = \"proto3\";\nmessage A { Nope a = 1; }\n");
        string two = folder.Write("two.proto", "syntax = \"proto3\";\nmessage B { Nada a = 1; }\n");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([one, two]));

        Assert.Contains($"{one}:2:13: \"Nope\" is not defined.", e.Message, StringComparison.Ordinal);
        Assert.Contains($"{two}:2:13: \"Nada\" is not defined.", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_error_in_an_import_names_the_imported_file_below_its_import_path()
    {
        using TempFolder folder = new();
        folder.Write("inc/lib/bad.proto", "syntax = \"proto3\";\nmessage {}\n");
        folder.Write("main.proto", "syntax = \"proto3\";\nimport \"lib/bad.proto\";\n");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["main.proto"], ["inc"], folder.Path));

        string path = Path.Combine("inc", "lib", "bad.proto");
        Assert.Contains($"{path}:2:9: Expected message name.", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_missing_import_names_the_import_and_the_line()
    {
        using TempFolder folder = new();
        string path = folder.Write(
            "a.proto",
            "syntax = \"proto3\";\n\nimport \"no/such.proto\";\nmessage A { Such such = 1; }");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(
            $"{path}:3:1: The import 'no/such.proto' was not found. Give the folder that contains "
            + "'no/such.proto' as an import path.",
            e.Message);
    }

    [Fact]
    public static void Missing_imports_come_first_and_without_what_follows_from_them()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", """
            syntax = "proto3";
            import "common/price.proto";
            import "common/money.proto";
            import "broken.proto";
            message A { common.Money money = 1; Price price = 2; }
            service S { rpc Get(A) returns (A) { option (common.cached) = true; } }
            """);
        folder.Write("broken.proto", "syntax = \"proto3\";\nmessage {}\n");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["a.proto"], baseFolder: folder.Path));

        Assert.Equal(
            [
                "2 imports were not found. Give the folders that contain them as an import path:",
                "a.proto:2:1: 'common/price.proto'",
                "a.proto:3:1: 'common/money.proto'",
                "broken.proto:2:9: Expected message name.",
            ],
            e.Message.Split('\n'));
    }

    [Fact]
    public static void An_unknown_name_stays_an_error_in_a_file_whose_imports_are_there()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", "syntax = \"proto3\";\nimport \"no.proto\";\nmessage A { No a = 1; }\n");
        folder.Write("b.proto", "syntax = \"proto3\";\nmessage B { Nope b = 1; }\n");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["a.proto", "b.proto"], baseFolder: folder.Path));

        Assert.Contains("a.proto:2:1: The import 'no.proto'", e.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("\"No\"", e.Message, StringComparison.Ordinal);
        Assert.Contains("b.proto:2:13: \"Nope\" is not defined.", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void The_warning_for_a_file_that_is_left_out_names_its_missing_import()
    {
        using TempFolder folder = new();
        folder.Write("good.proto", "syntax = \"proto3\"; message Good {}");
        folder.Write(
            "mid.proto", "syntax = \"proto3\";\nimport \"no.proto\";\nmessage Mid { No a = 1; }\n");
        folder.Write(
            "outer.proto", "syntax = \"proto3\";\nimport \"mid.proto\";\nmessage Outer { Mid a = 1; }\n");

        RpcSchema schema = RpcSchema.Load(["*.proto"], baseFolder: folder.Path);

        Assert.Equal(
            [
                "'mid.proto' is left out of the schema, because it has errors: mid.proto:2:1: The import "
                + "'no.proto' was not found.",
                "'outer.proto' is left out of the schema, because it has errors: mid.proto:2:1: The import "
                + "'no.proto' was not found.",
            ],
            schema.Warnings.Order());
    }

    [Fact]
    public static void Files_that_import_each_other_are_told_in_a_circle()
    {
        using TempFolder folder = new();
        string a = folder.Write("a.proto", "syntax = \"proto3\";\nimport \"b.proto\";\n");
        folder.Write("b.proto", "syntax = \"proto3\";\nimport \"a.proto\";\n");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([a]));

        Assert.Contains("a.proto -> b.proto -> a.proto", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Bytes_that_are_no_text_are_an_error_with_a_place()
    {
        using TempFolder folder = new();
        string path = folder.Write("a.proto", "");
        File.WriteAllBytes(path, [.. "syntax = \"proto3\";\nmessage "u8, 0xFF, 0xFE, .. " {}"u8]);

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.StartsWith($"{path}:2:9: ", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_file_with_a_byte_order_mark_is_read()
    {
        using TempFolder folder = new();
        string path = folder.Write("a.proto", "");
        File.WriteAllText(path, "syntax = \"proto3\";\nmessage A {}\n", new UTF8Encoding(true));

        Assert.Equal("A", Assert.Single(RpcSchema.Load([path]).Messages).FullName);
    }

    [Fact]
    public static void An_empty_file_is_a_schema_without_anything()
    {
        using TempFolder folder = new();
        string path = folder.Write("empty.proto", "");

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.Equal(["empty.proto"], schema.RootFiles);
        Assert.Empty(schema.Messages);
    }

    [Fact]
    public static void An_unused_import_is_a_warning_with_a_place()
    {
        using TempFolder folder = new();
        string path =
            folder.Write("a.proto", "syntax = \"proto3\";\nimport \"google/protobuf/any.proto\";\n");

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.Equal([$"{path}:2:1: Import google/protobuf/any.proto is unused."], schema.Warnings);
    }

    [Fact]
    public static void A_huge_file_is_read()
    {
        using TempFolder folder = new();
        StringBuilder text = new("syntax = \"proto3\";\n");
        for (int i = 0; i < 5_000; i++)
        {
            text.Append($"message Message{i} {{ int32 a = 1; Message{i} b = 2; }}\n");
        }

        RpcSchema schema = RpcSchema.Load([folder.Write("huge.proto", text.ToString())]);

        Assert.Equal(5_000, schema.Messages.Count);
        Assert.Equal("Message4999", schema.GetMessage("Message4999").Fields[1].TypeName);
    }

    [Fact]
    public static void Nesting_without_end_is_an_error_and_not_a_crash()
    {
        using TempFolder folder = new();
        string opening = string.Concat(Enumerable.Repeat("message A {", 10_000));
        string path =
            folder.Write("deep.proto", "syntax = \"proto3\";\n" + opening + new string('}', 10_000));

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
    }

    [Fact]
    public static void A_protoc_that_hangs_is_stopped()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        string script = Script(folder, "while true; do sleep 0.05; done");
        SourceFile source = new("a.proto", folder.Write("a.proto", "syntax = \"proto3\";"));
        ProtocPlan plan = Assert.Single(ProtocPlan.Make([source], [], []));

        RpcException e = Assert.Throws<RpcException>(
            () => ProtocCompiler.Run(script, plan, TimeSpan.FromMilliseconds(300)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, e.Code);
        Assert.Contains("0.3 seconds", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_protoc_that_dies_is_told_with_its_exit_code()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        string script = Script(folder, "exit 3");
        SourceFile source = new("a.proto", folder.Write("a.proto", "syntax = \"proto3\";"));

        RpcException e = Assert.Throws<RpcException>(
            () => ProtocCompiler.Run(script, ProtocPlan.Make([source], [], [])[0], TimeSpan.FromSeconds(30)));

        Assert.Contains("exit code 3", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_protoc_that_is_none_is_told_by_its_path()
    {
        using TempFolder folder = new();
        SourceFile source = new("a.proto", folder.Write("a.proto", "syntax = \"proto3\";"));

        RpcException e = Assert.Throws<RpcException>(
            () => ProtocCompiler.Run(
                source.FullPath, ProtocPlan.Make([source], [], [])[0], TimeSpan.FromSeconds(30)));

        Assert.Equal("ProtocNotFound", e.ErrorId);
        Assert.Contains(source.FullPath, e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Protoc_is_looked_for_in_the_variable_then_beside_the_assembly_then_on_path()
    {
        using TempFolder folder = new();
        string name = OperatingSystem.IsWindows() ? "protoc.exe" : "protoc";
        string named = folder.Write("named", "");
        string onPath = folder.Write(Path.Combine("bin", name), "");
        string path = $"{folder.Path}{Path.PathSeparator}{Path.GetDirectoryName(onPath)}";

        Assert.Equal(named, ProtocLocator.Find(named, ProtocLocator.AssemblyFolder, path));
        Assert.StartsWith(
            ProtocLocator.AssemblyFolder, ProtocLocator.Find(null, ProtocLocator.AssemblyFolder, path),
            StringComparison.Ordinal);
        Assert.Equal(onPath, ProtocLocator.Find("", folder.Path, path));
    }

    [Fact]
    public static void A_missing_protoc_is_an_error_that_says_what_to_install()
    {
        using TempFolder folder = new();

        RpcException nowhere = Assert.Throws<RpcException>(() => ProtocLocator.Find(null, folder.Path, ""));
        RpcException misnamed =
            Assert.Throws<RpcException>(() => ProtocLocator.Find("/no/protoc", folder.Path, ""));

        Assert.Equal("ProtocNotFound", nowhere.ErrorId);
        Assert.Contains("PROTOC", nowhere.Message, StringComparison.Ordinal);
        Assert.Contains("/no/protoc", misnamed.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Nothing_is_left_in_the_temporary_folder()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        string seen = Path.Combine(folder.Path, "seen");
        string script = Script(folder, $"pwd > '{seen}'; exit 1");
        SourceFile source = new("a.proto", folder.Write("a.proto", "syntax = \"proto3\";"));

        Assert.Throws<RpcException>(
            () => ProtocCompiler.Run(script, ProtocPlan.Make([source], [], [])[0], TimeSpan.FromSeconds(30)));

        Assert.False(Directory.Exists(File.ReadAllText(seen).Trim()));
    }

    private static string Script(TempFolder folder, string body)
    {
        string script = folder.Write("protoc.sh", $"#!/bin/sh\n{body}\n");
#pragma warning disable CA1416 // Not called on Windows.
        File.SetUnixFileMode(script, UnixFileMode.UserRead | UnixFileMode.UserExecute);
#pragma warning restore CA1416
        return script;
    }
}
