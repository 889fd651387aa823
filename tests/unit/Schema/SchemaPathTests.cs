using System.Globalization;

namespace ProtoRpc.Tests.Schema;

public static class SchemaPathTests
{
    [Fact]
    public static void Relative_paths_start_from_the_given_folder()
    {
        using TempFolder folder = new();
        folder.Write("with space/ünï 漢.proto", "syntax = \"proto3\"; message A {}");

        RpcSchema schema = RpcSchema.Load(["with space/ünï 漢.proto"], baseFolder: folder.Path);

        Assert.Equal("A", Assert.Single(schema.Messages).FullName);
        Assert.Equal(["ünï 漢.proto"], schema.RootFiles);
    }

    [Fact]
    public static void A_missing_file_is_not_found_by_its_path()
    {
        using TempFolder folder = new();

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["no.proto"], baseFolder: folder.Path));

        Assert.Equal(RpcStatusCode.NotFound, e.Code);
        Assert.Equal("SchemaNotFound", e.ErrorId);
        Assert.Contains("'no.proto'", e.Message, StringComparison.Ordinal);
        Assert.Contains(folder.Path, e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("no.proto", "There is no schema file '{0}'.")]
    [InlineData("no*.proto", "matches '{0}'.")]
    public static void A_whole_path_is_told_once(string name, string message)
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, name);

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.EndsWith(
            string.Format(CultureInfo.InvariantCulture, message, path), e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("my-stuff.proto", "Stuff")]
    [InlineData("sub/part.proto", "Part")]
    [InlineData("s*/*.proto", "Part")]
    [InlineData("here.proto", "Here")]
    public static void A_name_is_looked_for_in_the_base_folder_and_then_in_the_import_paths(
        string name, string message)
    {
        using TempFolder folder = new();
        folder.Write("protos/my-stuff.proto", "syntax = \"proto3\"; message Stuff {}");
        folder.Write("protos/sub/part.proto", "syntax = \"proto3\"; message Part {}");
        folder.Write("work/here.proto", "syntax = \"proto3\"; message Here {}");

        RpcSchema schema = RpcSchema.Load(
            [name], ["../protos"], Path.Combine(folder.Path, "work"));

        Assert.Equal(message, Assert.Single(schema.Messages).FullName);
    }

    [Fact]
    public static void A_folder_is_looked_for_in_the_import_paths()
    {
        using TempFolder folder = new();
        folder.Write(
            "protos/shop/a.proto", "syntax = \"proto3\"; import \"shop/b.proto\"; message A { B b = 1; }");
        folder.Write("protos/shop/b.proto", "syntax = \"proto3\"; message B {}");

        RpcSchema schema = RpcSchemaLoader.Load(
            "shop", new RpcSchemaLoadOptions { ImportPaths = ["protos"], BaseFolder = folder.Path });

        Assert.Equal(["shop/a.proto", "shop/b.proto"], schema.RootFiles.Order());
    }

    [Theory]
    [InlineData("no.proto", "Also searched: 'protos/no.proto'.")]
    [InlineData("./my-stuff.proto", "my-stuff.proto).")]
    public static void The_error_for_a_missing_name_says_where_it_was_looked_for(string name, string end)
    {
        using TempFolder folder = new();
        folder.Write("protos/my-stuff.proto", "syntax = \"proto3\"; message Stuff {}");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([name], ["protos"], folder.Path));

        Assert.Equal("SchemaNotFound", e.ErrorId);
        Assert.EndsWith(
            end.Replace('/', Path.DirectorySeparatorChar), e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_missing_import_path_is_not_found_by_its_path()
    {
        using TempFolder folder = new();
        string proto = folder.Write("a.proto", "syntax = \"proto3\";");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([proto], ["nowhere"]));

        Assert.Equal(RpcStatusCode.NotFound, e.Code);
        Assert.Contains("'nowhere'", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_folder_is_an_error_that_shows_the_wildcard()
    {
        using TempFolder folder = new();

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([folder.Path]));

        Assert.Contains(Path.Combine(folder.Path, "*.proto"), e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("notes.txt")]
    [InlineData("proto")]
    public static void An_unknown_ending_is_an_error_that_lists_the_known_ones(string name)
    {
        using TempFolder folder = new();
        string path = folder.Write(name, "");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Contains(
            ".proto, .pb, .protoset, .desc, .binpb, .bin, .fds", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("*.proto", "a.proto b.proto")]
    [InlineData("?.proto", "a.proto b.proto")]
    [InlineData("*", "a.proto b.proto")]
    [InlineData("sub/*.proto", "c.proto")]
    [InlineData("s*/*.proto", "c.proto")]
    [InlineData("**/*.proto", "a.proto b.proto c.proto d.proto")]
    [InlineData("**", "a.proto b.proto c.proto d.proto")]
    [InlineData("sub/**/d.proto", "d.proto")]
    [InlineData("./sub/../?.proto", "a.proto b.proto")]
    public static void Wildcards_find_the_files(string pattern, string expected)
    {
        using TempFolder folder = new();
        folder.Write("b.proto", "syntax = \"proto3\"; message B {}");
        folder.Write("a.proto", "syntax = \"proto3\"; message A {}");
        folder.Write("sub/c.proto", "syntax = \"proto3\"; message C {}");
        folder.Write("sub/deep/d.proto", "syntax = \"proto3\"; message D {}");
        folder.Write("readme.md", "");

        RpcSchema schema = RpcSchema.Load([pattern], baseFolder: folder.Path);

        Assert.Equal(expected, string.Join(' ', schema.RootFiles));
    }

    [Fact]
    public static void A_wildcard_without_a_file_is_not_found()
    {
        using TempFolder folder = new();
        folder.Write("readme.md", "");

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load(["*"], baseFolder: folder.Path));

        Assert.Equal(RpcStatusCode.NotFound, e.Code);
        Assert.Contains("'*'", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void No_path_at_all_is_an_error() =>
        Assert.Equal("SchemaError", Assert.Throws<RpcException>(() => RpcSchema.Load([])).ErrorId);

    [Fact]
    public static void The_same_file_twice_is_one()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", "syntax = \"proto3\"; message A {}");

        RpcSchema schema = RpcSchema.Load(["a.proto", "./a.proto", "*.proto"], baseFolder: folder.Path);

        Assert.Single(schema.Messages);
    }

    [Fact]
    public static void Files_of_two_folders_import_their_neighbours()
    {
        using TempFolder folder = new();
        folder.Write("one/a.proto", "syntax = \"proto3\"; import \"a_dep.proto\"; message A { ADep d = 1; }");
        folder.Write("one/a_dep.proto", "syntax = \"proto3\"; message ADep {}");
        folder.Write("two/b.proto", "syntax = \"proto3\"; import \"a.proto\"; message B { A a = 1; }");

        RpcSchema schema = RpcSchema.Load(["one/a.proto", "two/b.proto"], baseFolder: folder.Path);

        Assert.Equal(["a.proto", "b.proto"], schema.RootFiles);
        Assert.Equal("A", schema.GetMessage("B").Fields[0].TypeName);
    }

    [Fact]
    public static void Imports_that_count_from_a_folder_above_are_found_without_an_import_path()
    {
        using TempFolder folder = new();
        folder.Write(
            "root/a/b/x.proto", "syntax = \"proto3\"; import \"a/c/y.proto\"; message X { Y y = 1; }");
        folder.Write("root/a/c/y.proto", "syntax = \"proto3\"; message Y {}");

        RpcSchema one = RpcSchema.Load(["root/a/b/x.proto"], baseFolder: folder.Path);
        RpcSchema all = RpcSchema.Load(["root/**/*.proto"], baseFolder: folder.Path);

        Assert.Equal(["a/b/x.proto"], one.RootFiles);
        Assert.Equal(["a/b/x.proto", "a/c/y.proto"], all.RootFiles);
    }

    [Theory]
    [InlineData("api/services")]
    [InlineData("api")]
    [InlineData(".")]
    public static void The_imports_of_a_folder_may_count_from_a_folder_above(string loaded)
    {
        using TempFolder folder = new();
        folder.Write("api/services/a.proto", """
            syntax = "proto3"; import "api/common/b.proto"; import "api/services/v1/c.proto";
            message A { B b = 1; C c = 2; }
            """);
        folder.Write("api/services/v1/c.proto", "syntax = \"proto3\"; message C {}");
        folder.Write("api/common/b.proto", "syntax = \"proto3\"; message B {}");

        RpcSchema schema = RpcSchemaLoader.Load(
            loaded, new RpcSchemaLoadOptions { BaseFolder = folder.Path });

        Assert.Empty(schema.Warnings);
        Assert.Equal("B", schema.GetMessage("A").Fields[0].TypeName);
        Assert.Contains("api/services/a.proto", schema.RootFiles);
        Assert.Contains("api/services/v1/c.proto", schema.RootFiles);
    }

    [Fact]
    public static void The_imports_of_a_folder_may_count_from_a_folder_in_it()
    {
        using TempFolder folder = new();
        folder.Write(
            "src/proto/shop/a.proto",
            "syntax = \"proto3\"; import \"shop/b.proto\"; message A { B b = 1; }");
        folder.Write("src/proto/shop/b.proto", "syntax = \"proto3\"; message B {}");
        folder.Write("src/c.proto", "syntax = \"proto3\"; message C {}");
        folder.Write("src/proto/c.proto", "syntax = \"proto3\"; message D {}");

        RpcSchema schema = RpcSchemaLoader.Load(
            "src", new RpcSchemaLoadOptions { BaseFolder = folder.Path });

        Assert.Equal(["A", "B", "C", "D"], schema.Messages.Select(message => message.Name).Order());
    }

    [Fact]
    public static void The_imports_of_imports_lead_to_folders_above()
    {
        using TempFolder folder = new();
        folder.Write(
            "etcd/raft/raft.proto", "syntax = \"proto3\"; import \"rpc.proto\"; message Raft { Rpc r = 1; }");
        folder.Write(
            "etcd/raft/rpc.proto",
            "syntax = \"proto3\"; import \"etcd/kv/kv.proto\"; message Rpc { Kv k = 1; }");
        folder.Write("etcd/kv/kv.proto", "syntax = \"proto3\"; message Kv {}");

        RpcSchema schema = RpcSchema.Load(["etcd/raft/raft.proto"], baseFolder: folder.Path);

        Assert.Equal("Kv", schema.GetMessage("Rpc").Fields[0].TypeName);
    }

    [Theory]
    [InlineData("repo/.git/HEAD", "outside/b.proto", false)]
    [InlineData("repo/.git", "outside/b.proto", false)]
    [InlineData("repo/.git/HEAD", "inside/b.proto", true)]
    [InlineData("repo/.git/HEAD", "repo/inside/b.proto", true)]
    [InlineData("none", "outside/b.proto", true)]
    [InlineData("none", "1/2/3/4/5/6/7/8/9/b.proto", false)]
    public static void No_folder_outside_of_a_repository_or_far_above_is_searched(
        string marker, string import, bool isFound)
    {
        using TempFolder folder = new();
        folder.Write(marker, "");
        folder.Write("outside/b.proto", "syntax = \"proto3\"; message B {}");
        folder.Write("repo/inside/b.proto", "syntax = \"proto3\"; message B {}");
        folder.Write("1/2/3/4/5/6/7/8/9/b.proto", "syntax = \"proto3\"; message B {}");
        string name = import[0] == '1' ? "1/2/3/4/5/6/7/8/9/10/a.proto" : "repo/api/v1/a.proto";
        string path = folder.Write(
            name, $"syntax = \"proto3\"; import \"{import}\"; message A {{ B b = 1; }}");

        RpcException? error = null;
        try
        {
            RpcSchema.Load([path]);
        }
        catch (RpcException e)
        {
            error = e;
        }

        Assert.Equal(isFound, error is null);
    }

    [Fact]
    public static void Links_that_lead_in_circles_are_followed_once()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        folder.Write("src/a.proto", "syntax = \"proto3\"; message A {}");
        folder.Write("other/b.proto", "syntax = \"proto3\"; message B {}");
        Directory.CreateSymbolicLink(Path.Combine(folder.Path, "src", "here"), ".");
        Directory.CreateSymbolicLink(Path.Combine(folder.Path, "src", "up"), "..");
        Directory.CreateSymbolicLink(Path.Combine(folder.Path, "src", "self"), "self");
        Directory.CreateSymbolicLink(Path.Combine(folder.Path, "src", "linked"), "../other");
        Directory.CreateSymbolicLink(
            Path.Combine(folder.Path, "other", "back"), Path.Combine(folder.Path, "src"));

        RpcSchema schema = RpcSchemaLoader.Load(Path.Combine(folder.Path, "src"));

        Assert.Equal(["A", "B"], schema.Messages.Select(message => message.Name).Order());
        Assert.Empty(schema.Warnings);
    }

    [Fact]
    public static void Names_count_from_the_import_path_that_holds_the_file()
    {
        using TempFolder folder = new();
        folder.Write("root/a/x.proto", "syntax = \"proto3\"; import \"a/y.proto\"; message X { Y y = 1; }");
        folder.Write("root/a/y.proto", "syntax = \"proto3\"; message Y {}");

        RpcSchema schema = RpcSchema.Load(["root/a/x.proto", "root/a/y.proto"], ["root"], folder.Path);

        Assert.Equal(["a/x.proto", "a/y.proto"], schema.RootFiles);
    }

    [Fact]
    public static void Different_files_of_the_same_name_live_side_by_side()
    {
        using TempFolder folder = new();
        folder.Write(
            "one/s.proto", "syntax = \"proto3\"; package one; import \"t.proto\"; message S { T t = 1; }");
        folder.Write("one/t.proto", "syntax = \"proto3\"; package one; message T {}");
        folder.Write(
            "two/s.proto", "syntax = \"proto3\"; package two; import \"t.proto\"; message S { T t = 1; }");
        folder.Write("two/t.proto", "syntax = \"proto3\"; package two; message T { int32 a = 1; }");

        RpcSchema schema = RpcSchema.Load(["*/s.proto"], baseFolder: folder.Path);

        Assert.Equal(["s.proto", "two/s.proto"], schema.RootFiles);
        Assert.Equal("one.T", schema.GetMessage("one.S").Fields[0].TypeName);
        Assert.Single(schema.GetMessage("two.S").Fields[0].MessageType!.Fields);
    }

    [Fact]
    public static void The_same_message_in_two_files_is_an_error_that_names_both()
    {
        using TempFolder folder = new();
        folder.Write("one/s.proto", "syntax = \"proto3\"; package p; message S { int32 a = 1; }");
        folder.Write("two/s.proto", "syntax = \"proto3\"; package p; message S { int32 b = 1; }");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["*/s.proto"], baseFolder: folder.Path));

        Assert.Equal("The message 'p.S' is declared in 's.proto' and in 'two/s.proto'.", e.Message);
    }

    [Fact]
    public static void An_import_that_two_folders_have_differently_is_an_error()
    {
        using TempFolder folder = new();
        folder.Write("one/a.proto", "syntax = \"proto3\"; import \"common.proto\"; message A { C c = 1; }");
        folder.Write("one/common.proto", "syntax = \"proto3\"; message C { int32 x = 1; }");
        folder.Write("two/b.proto", "syntax = \"proto3\"; import \"common.proto\"; message B { C c = 1; }");
        folder.Write("two/common.proto", "syntax = \"proto3\"; message C { int32 y = 1; }");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["one/a.proto", "two/b.proto"], baseFolder: folder.Path));

        Assert.Contains("'common.proto'", e.Message, StringComparison.Ordinal);
        Assert.Contains("one", e.Message, StringComparison.Ordinal);
        Assert.Contains("two", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_file_that_an_earlier_import_path_hides_is_an_error()
    {
        using TempFolder folder = new();
        folder.Write("one/a.proto", "syntax = \"proto3\"; message A {}");
        folder.Write("two/a.proto", "syntax = \"proto3\"; message B {}");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["two/a.proto"], ["one", "two"], folder.Path));

        Assert.Contains("'two/a.proto' is hidden", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("with=sign")]
    [InlineData("with,comma;semicolon")]
    [InlineData("with:colon")]
    [InlineData("@at")]
    [InlineData("-dash")]
    [InlineData("quote'\"s")]
    public static void Folders_with_odd_names_work(string name)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        folder.Write(
            $"{name}/{name}.proto", "syntax = \"proto3\"; import \"b.proto\"; message A { B b = 1; }");
        folder.Write($"{name}/b.proto", "syntax = \"proto3\"; message B {}");

        RpcSchema schema = RpcSchema.Load([$"{name}/{name}.proto"], baseFolder: folder.Path);

        Assert.Equal([$"{name}.proto"], schema.RootFiles);
    }

    [Fact]
    public static void Our_own_and_the_well_known_imports_are_found_by_themselves()
    {
        using TempFolder folder = new();
        string path = folder.Write("a.proto", """
            syntax = "proto2";
            import "google/protobuf/csharp_options.proto";
            import "google/protobuf/timestamp.proto";
            import "rpc_messages.proto";
            message A {
              optional google.protobuf.Timestamp time = 1;
              optional google.protobuf.rpc_messages.RpcVoid nothing = 2;
            }
            service S {
              option (google.protobuf.csharp_service_options).interface_id =
                "11111111-2222-3333-4444-555555555555";
            }
            """);

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.Equal(new Guid("11111111-2222-3333-4444-555555555555"), schema.GetService("S").InterfaceId);
    }

    [Fact]
    public static void The_imports_of_Google_APIs_are_found_by_themselves()
    {
        using TempFolder folder = new();
        string path = folder.Write("a.proto", """
            syntax = "proto3";
            import "google/api/annotations.proto";
            import "google/api/field_behavior.proto";
            import "google/rpc/status.proto";
            import "google/type/money.proto";
            message A {
              string name = 1 [(google.api.field_behavior) = REQUIRED];
              google.type.Money price = 2;
              google.rpc.Status status = 3;
            }
            service S { rpc Get(A) returns (A) { option (google.api.http) = { get: "/v1/{name}" }; } }
            """);

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.Empty(schema.Warnings);
        Assert.Equal("google.type.Money", schema.GetMessage("A").Fields[1].MessageType?.FullName);
        Assert.Contains("get: \"/v1/{name}\"", schema.ToProtoText("a.proto"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("google/rpc/status.proto", "message Status { int32 mine = 1; }")]
    [InlineData("google/type/money.proto", "message Money { int32 mine = 1; }")]
    public static void A_file_of_the_users_import_path_comes_before_the_one_that_is_shipped(
        string name, string declaration)
    {
        using TempFolder folder = new();
        folder.Write($"own/{name}", $"syntax = \"proto3\"; package mine; {declaration}");
        folder.Write("a.proto", $"syntax = \"proto3\"; import \"{name}\";");

        RpcSchema schema = RpcSchema.Load(["a.proto"], ["own"], folder.Path);

        Assert.Equal("mine", Assert.Single(Assert.Single(schema.Messages).Fields).Name);
    }

    [Fact]
    public static void Proto_files_and_descriptor_sets_are_loaded_together()
    {
        using TempFolder folder = new();
        RpcSchema sample = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "sample.proto")]);
        string set = Path.Combine(folder.Path, "sample.protoset");
        File.WriteAllBytes(set, sample.ToDescriptorSet());

        RpcSchema both = RpcSchema.Load([set, Path.Combine(TestProtos.Shipped, "search.proto")]);

        Assert.Equal(["search.proto", "sample.proto"], both.RootFiles);
        Assert.Equal("The text.", both.GetMessage("MyRequest").Fields[0].Comment);
    }
}
